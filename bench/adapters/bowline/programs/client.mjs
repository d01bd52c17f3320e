import { connect } from "bowline/client";

const client = await connect(process.argv[2]);
console.log(await client.callTool("echo", { text: "hi" }));
