import { deepEqual, equal, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { DefinitionError } from "#src/protocol/errors.js";
import { expandUriTemplate } from "#src/protocol/uri-expand.js";
import { matchUri } from "#src/server/definitions/uri-match.js";
import { parseUriTemplate, type UriVariables } from "#src/server/definitions/uri-template.js";
import { proves } from "../../../support/verifies.js";

const VALUES = {
  count: ["one", "two", "three"],
  dom: ["example", "com"],
  dub: "me/too",
  hello: "Hello World!",
  half: "50%",
  var: "value",
  who: "fred",
  base: "http://example.com/home/",
  path: "/foo/bar",
  list: ["red", "green", "blue"],
  keys: { semi: ";", dot: ".", comma: "," },
  v: "6",
  x: "1024",
  y: "768",
  empty: "",
  empty_keys: [],
  undef: null,
};

/** The examples of RFC 6570, section 3.2. */
const EXPANSIONS: Readonly<Record<string, string>> = {
  "{count}": "one,two,three",
  "{count*}": "one,two,three",
  "{/count}": "/one,two,three",
  "{/count*}": "/one/two/three",
  "{;count}": ";count=one,two,three",
  "{;count*}": ";count=one;count=two;count=three",
  "{?count}": "?count=one,two,three",
  "{?count*}": "?count=one&count=two&count=three",
  "{&count*}": "&count=one&count=two&count=three",
  "{var}": "value",
  "{hello}": "Hello%20World%21",
  "{half}": "50%25",
  "O{empty}X": "OX",
  "O{undef}X": "OX",
  "{x,y}": "1024,768",
  "{x,hello,y}": "1024,Hello%20World%21,768",
  "?{x,empty}": "?1024,",
  "?{x,undef}": "?1024",
  "?{undef,y}": "?768",
  "{var:3}": "val",
  "{var:30}": "value",
  "{list}": "red,green,blue",
  "{list*}": "red,green,blue",
  "{keys}": "semi,%3B,dot,.,comma,%2C",
  "{keys*}": "semi=%3B,dot=.,comma=%2C",
  "{+var}": "value",
  "{+hello}": "Hello%20World!",
  "{+half}": "50%25",
  "{base}index": "http%3A%2F%2Fexample.com%2Fhome%2Findex",
  "{+base}index": "http://example.com/home/index",
  "O{+empty}X": "OX",
  "O{+undef}X": "OX",
  "{+path}/here": "/foo/bar/here",
  "here?ref={+path}": "here?ref=/foo/bar",
  "up{+path}{var}/here": "up/foo/barvalue/here",
  "{+x,hello,y}": "1024,Hello%20World!,768",
  "{+path,x}/here": "/foo/bar,1024/here",
  "{+path:6}/here": "/foo/b/here",
  "{+list}": "red,green,blue",
  "{+keys}": "semi,;,dot,.,comma,,",
  "{+keys*}": "semi=;,dot=.,comma=,",
  "{#var}": "#value",
  "{#hello}": "#Hello%20World!",
  "{#half}": "#50%25",
  "foo{#empty}": "foo#",
  "foo{#undef}": "foo",
  "{#x,hello,y}": "#1024,Hello%20World!,768",
  "{#path,x}/here": "#/foo/bar,1024/here",
  "{#path:6}/here": "#/foo/b/here",
  "{#keys*}": "#semi=;,dot=.,comma=,",
  "{.who}": ".fred",
  "{.who,who}": ".fred.fred",
  "{.half,who}": ".50%25.fred",
  "www{.dom*}": "www.example.com",
  "X{.var}": "X.value",
  "X{.empty}": "X.",
  "X{.undef}": "X",
  "X{.var:3}": "X.val",
  "X{.list}": "X.red,green,blue",
  "X{.list*}": "X.red.green.blue",
  "X{.keys}": "X.semi,%3B,dot,.,comma,%2C",
  "X{.keys*}": "X.semi=%3B.dot=..comma=%2C",
  "X{.empty_keys}": "X",
  "X{.empty_keys*}": "X",
  "{/who}": "/fred",
  "{/half,who}": "/50%25/fred",
  "{/who,dub}": "/fred/me%2Ftoo",
  "{/var,empty}": "/value/",
  "{/var,undef}": "/value",
  "{/var,x}/here": "/value/1024/here",
  "{/var:1,var}": "/v/value",
  "{/list*,path:4}": "/red/green/blue/%2Ffoo",
  "{/keys}": "/semi,%3B,dot,.,comma,%2C",
  "{/keys*}": "/semi=%3B/dot=./comma=%2C",
  "{;who}": ";who=fred",
  "{;half}": ";half=50%25",
  "{;empty}": ";empty",
  "{;v,empty,who}": ";v=6;empty;who=fred",
  "{;v,bar,who}": ";v=6;who=fred",
  "{;x,y,empty}": ";x=1024;y=768;empty",
  "{;x,y,undef}": ";x=1024;y=768",
  "{;hello:5}": ";hello=Hello",
  "{;keys}": ";keys=semi,%3B,dot,.,comma,%2C",
  "{;keys*}": ";semi=%3B;dot=.;comma=%2C",
  "{?who}": "?who=fred",
  "{?half}": "?half=50%25",
  "{?x,y,empty}": "?x=1024&y=768&empty=",
  "{?x,y,undef}": "?x=1024&y=768",
  "{?var:3}": "?var=val",
  "{?list*}": "?list=red&list=green&list=blue",
  "{?keys}": "?keys=semi,%3B,dot,.,comma,%2C",
  "{?keys*}": "?semi=%3B&dot=.&comma=%2C",
  "{&who}": "&who=fred",
  "?fixed=yes{&x}": "?fixed=yes&x=1024",
  "{&x,y,empty}": "&x=1024&y=768&empty=",
  "{&keys*}": "&semi=%3B&dot=.&comma=%2C",
};

describe("a URI template expands", () => {
  for (const [template, uri] of Object.entries(EXPANSIONS)) {
    proves("uri-template:expand:rfc6570", {}, template, () => equal(expandUriTemplate(template, VALUES), uri));
  }

  it("text beyond ASCII as percent-encoded UTF-8", () => {
    equal(expandUriTemplate("ü://{x}", { x: "é💧" }), "%C3%BC://%C3%A9%F0%9F%92%A7");
  });

  it("nothing that is inherited", () => {
    equal(expandUriTemplate("a{constructor}", {}), "a");
  });
});

describe("a URI template matches", () => {
  const MATCHES: readonly [template: string, uri: string, values: Record<string, string | string[]> | undefined][] = [
    ["books://all", "books://all", {}],
    ["books://all", "books://all/", undefined],
    ["books://{id}", "books://1", { id: "1" }],
    ["books://{id}", "books://1/extra", undefined],
    ["books://{id}", "books://1?x=2", undefined],
    ["books://{id}", "books://1#x", undefined],
    ["books://{id}", "books://", undefined],
    ["books://{id}", "xbooks://1", undefined],
    ["books://{id}", "books://a%2Fb", { id: "a/b" }],
    ["books://{id}", "books://%252F", { id: "%2F" }],
    ["books://{id}", "books://%ZZ", undefined],
    ["books://{id}", "books://%FF", undefined],
    ["books://{id}", "books://__proto__", { id: "__proto__" }],
    ["a.b+c(1)://{x}", "a.b+c(1)://y", { x: "y" }],
    ["a.b+c(1)://{x}", "aXb+c(1)://y", undefined],
    ["docs://{+path}", "docs://a/b/c.md", { path: "a/b/c.md" }],
    ["docs://{+path}{.ext}", "docs://a.b/c.md", { path: "a.b/c", ext: "md" }],
    ["x://{a}/{+b}/{c}.{d}", "x://1/2/3/4.5", { a: "1", b: "2/3", c: "4", d: "5" }],
    ["x://{a}-{b}/end", "x://1-2-3/end", { a: "1", b: "2-3" }],
    ["x://{a,b}", "x://1,2", { a: "1", b: "2" }],
    ["x://h{/path*}", "x://h/a/b%2Fc//d", { path: ["a", "b/c", "", "d"] }],
    ["x://h{/path*}", "x://h", undefined],
    ["x://h{/a,b}", "x://h/1/2", { a: "1", b: "2" }],
    ["x://h{/a,b}", "x://h/1", undefined],
    ["x://h{;a,b}", "x://h;a=1;b=2", { a: "1", b: "2" }],
    ["x://h{#part}", "x://h#a/b?c", { part: "a/b?c" }],
    ["x://{a:3}", "x://abc", { a: "abc" }],
    ["x://{a:3}", "x://abcd", undefined],
    ["x://h{?limit,sort}", "x://h", {}],
    ["x://h{?limit,sort}", "x://h?sort=up&other=1&limit=5", { sort: "up", limit: "5" }],
    ["x://h{?limit,sort}", "x://h?limit=%ZZ", undefined],
    ["x://h{?limit,sort}", "x://h/more?limit=1", undefined],
    ["x://h{?limit}", "x://h?limit=1&limit=2", { limit: "1" }],
    ["x://h{?limit}", "x://h?limit", { limit: "" }],
    ["x://h{?tag*}", "x://h?tag=a&tag=b", { tag: ["a", "b"] }],
    ["x://h?v=1{&a}", "x://h?v=1&a=2", { a: "2" }],
    ["x://h?v=1{&a}", "x://h?v=1", {}],
    ["x://h?v=1{&a}", "x://h?v=10", undefined],
    ["x://h?v=1{&a}", "x://h", undefined],
    ["x://h{?a}{&b}", "x://h?b=2&a=1", { a: "1", b: "2" }],
    ["x://{id}{?a}", "x://1?a=b/c", { id: "1", a: "b/c" }],
    ["{+all}", "any:thing?at#all", { all: "any:thing?at#all" }],
  ];
  for (const [template, uri, values] of MATCHES) {
    it(`${template} ${values === undefined ? "not " : ""}against ${uri}`, () => {
      deepEqual(matchUri(parseUriTemplate(template), uri), values);
    });
  }

  proves("uri-template:match:inverse-of-expand", {}, "what it expanded to", () => {
    const operator = fc.constantFrom("", "+", ".", "/", ";");
    const template = fc.array(fc.tuple(operator, fc.boolean()), { minLength: 1, maxLength: 5 }).map((specs) => {
      let wide = false;
      return specs.map(([op, many], index) => {
        const explode = many && op === "/" && !wide;
        const spans = explode || (op === "+" && !wide);
        wide ||= spans;
        return { op: op === "+" && !spans ? "" : op, explode, name: `v${index}` };
      });
    });
    // Characters that no operator and no literal of these templates uses as a delimiter.
    const text = fc.string({
      unit: fc.constantFrom("a", "Z", "9", "é", "💧", "%", " ", "~", "_", "?", "#"),
      minLength: 1,
    });
    fc.assert(
      fc.property(template, fc.infiniteStream(text), (specs, texts) => {
        const next = () => texts.next().value as string;
        const values = specs.map(({ name, op, explode }) => {
          const value = op === "+" ? next().replace(/%/g, "") : next();
          return [name, explode ? [value, next()] : value || "a"] as const;
        });
        const written = specs.map(({ op, name, explode }) => `!{${op}${name}${explode ? "*" : ""}}`).join("");
        const template = `x://${written}`;
        const uri = expandUriTemplate(template, Object.fromEntries(values));
        deepEqual(matchUri(parseUriTemplate(template), uri), Object.fromEntries(values));
      }),
    );
  });

  proves("uri-template:match:inverse-of-expand", {}, "or not, but never throws", () => {
    const templates = ["x://{a}-{b}{?c}", "x://{+p}{.e}", "x://h{/s*}", "{a}"].map((text) => parseUriTemplate(text));
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (rest) => {
        for (const template of templates) {
          const found = matchUri(template, `x://${rest}`);
          equal(found === undefined || Object.keys(found).length > 0, true);
        }
      }),
    );
  });

  proves("uri-template:bounds", {}, "nothing longer than its bound", () => {
    equal(matchUri(parseUriTemplate("x://{+a}"), `x://${"a".repeat(1_000_000)}`), undefined);
  });

  it("and tells its variables and their types", () => {
    const template = parseUriTemplate("x://{owner}/{repo:20}{/path*}{?ref}");
    deepEqual(template.variables, ["owner", "repo", "path", "ref"]);
    const found = matchUri(template, "x://a/b/c/d") satisfies
      | { owner: string; repo: string; path: string[]; ref?: string }
      | undefined;
    const typed: UriVariables<"x://{owner}/{repo:20}{/path*}{?ref}"> | undefined = found;
    deepEqual(typed?.path, ["c", "d"]);
  });
});

describe("a URI template is refused with", () => {
  proves("uri-template:parse:rejects", {}, "nothing where the operator brings a delimiter", () => {
    deepEqual(parseUriTemplate("x://{+path}{.ext}").variables, ["path", "ext"]);
  });

  const REFUSED: Readonly<Record<string, RegExp>> = {
    "x://{a": /unclosed expression at position 4/,
    "x://a}": /position 5/,
    "x://{a{b}}": /malformed expression at position 4/,
    "x://{}": /malformed/,
    "x://{a,}": /malformed/,
    "x://{!a}": /malformed/,
    "x://{a b}": /malformed/,
    "x://{a:0}": /malformed/,
    "x://{a:3*}": /malformed/,
    "x:// {a}": /invalid character/,
    "x://%2/{a}": /invalid character/,
    "x://{a}/{a}": /"a" is used twice at position 8/,
    "x://{a}{b}": /nothing between/,
    "x://{+a}{b}": /nothing between/,
    "x://{+a}/{+b}": /second variable that spans segments/,
    "x://{+a}{/b*}": /second variable/,
    "x://h{;a*}": /cannot be matched/,
    "x://h{?a}/b": /after query/,
    "x://h{?a}{?b}": /a second question mark at position 9$/,
    "x://h{&a}": /follow a literal query at position 5$/,
    "x://h?v=1{?a}": /a second question mark/,
    "x://h?v={v}{&a}": /follow a literal query/,
    "x://h{?a}{b}": /after query/,
  };
  for (const [template, message] of Object.entries(REFUSED)) {
    proves("uri-template:parse:rejects", {}, template, () => {
      throws(
        () => parseUriTemplate(template),
        (error) => error instanceof DefinitionError && message.test(error.message),
      );
    });
  }

  proves("uri-template:bounds", {}, "too many variables or characters", () => {
    throws(
      () =>
        parseUriTemplate(
          new Array(33)
            .fill(0)
            .map((_, n) => `{v${n}}`)
            .join("/"),
        ),
      /more than 32 variables at position 182$/,
    );
    throws(() => parseUriTemplate("a".repeat(2049)), /longer than 2048/);
  });
});

describe("a query that begins with literal text", () => {
  const template = parseUriTemplate("r://{id}?v=1{&q}");
  it("is matched as it stands, with the variables behind it", () => {
    deepEqual(matchUri(template, "r://a?v=1&q=2"), { id: "a", q: "2" });
    deepEqual(matchUri(template, "r://a?v=1"), { id: "a" });
  });
  it("matches nothing else", () => {
    for (const uri of ["r://a", "r://a?", "r://a?v=2&q=2", "r://a?v=12", "r://a?q=2", "r://a?q=2&v=1", "r://?v=1"]) {
      equal(matchUri(template, uri), undefined, uri);
    }
  });
  it("must have no variable of the path behind its question mark, and a question mark before &", () => {
    for (const text of ["r://{id}?v={v}{&q}", "r://{id}{&q}", "r://{id}?v=1{?q}", "r://{id}{?p}{?q}"]) {
      throws(() => parseUriTemplate(text), DefinitionError, text);
    }
    deepEqual(matchUri(parseUriTemplate("r://{id}{?p}{&q}"), "r://a?q=1&p=2"), { id: "a", p: "2", q: "1" });
  });
});
