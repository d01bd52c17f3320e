export { FakeClock } from "bowline/testing";
