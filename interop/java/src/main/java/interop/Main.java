package interop;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * The official Java SDK as server and as client:
 *
 * <pre>
 * interop.Main serve stdio|http &lt;folder&gt;
 * interop.Main drive legacy|auto &lt;url&gt;
 * interop.Main drive legacy|auto &lt;command&gt; &lt;argument ...&gt;
 * </pre>
 */
public final class Main {
	private Main() {
	}

	public static void main(String[] args) throws Exception {
		switch (args[0]) {
			case "serve" -> Server.serve(args[1], new Ledger(Path.of(args[2])));
			case "drive" -> new Client(List.of(Arrays.copyOfRange(args, 2, args.length))).run();
			default -> throw new IllegalArgumentException("unknown command " + args[0]);
		}
	}
}
