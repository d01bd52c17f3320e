package interop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Notes events of calls as files in a folder. Another call, also of another process, waits for them. */
record Ledger(Path folder) {
	private static final long PATIENCE_NANOS = 5_000_000_000L;

	void note(String key, String event) {
		try {
			Files.writeString(path(key, event), "");
		} catch (IOException e) {
			throw new IllegalStateException(e);
		}
	}

	void await(String key, String event) {
		long end = System.nanoTime() + PATIENCE_NANOS;
		while (!Files.exists(path(key, event))) {
			if (System.nanoTime() > end) {
				throw new IllegalStateException("not " + event + " within 5 s");
			}
			pause();
		}
	}

	private static void pause() {
		try {
			Thread.sleep(10);
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	private Path path(String key, String event) {
		return folder.resolve(key + " " + event);
	}
}
