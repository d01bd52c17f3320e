import type { ContentBlock } from "../../protocol/types/index.js";
import type { Context } from "../context.js";
import { toContent } from "./tool-result.js";

/**
 * Runs a generator to its end: what it yields is shown as progress, what it returns is the result. When it returns
 * nothing, all that it yielded is.
 */
export async function drain(generator: AsyncGenerator<unknown, unknown, void>, ctx: Context): Promise<unknown> {
  const shown: ContentBlock[] = [];
  for (;;) {
    const { done, value } = await generator.next();
    if (done === true) return value === undefined && shown.length > 0 ? shown : value;
    const { content } = toContent(value);
    shown.push(...content);
    await ctx.partial(content, textOf(content));
    if (ctx.signal.aborted) {
      await generator.return(undefined);
      throw ctx.signal.reason;
    }
  }
}

function textOf(content: readonly ContentBlock[]): string | undefined {
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  return texts.length === 0 ? undefined : texts.join("\n");
}
