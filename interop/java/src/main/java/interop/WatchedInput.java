package interop;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.CountDownLatch;

/** Input that tells of its end. */
final class WatchedInput extends FilterInputStream {
	private final CountDownLatch ended;

	WatchedInput(InputStream input, CountDownLatch ended) {
		super(input);
		this.ended = ended;
	}

	@Override
	public int read() throws IOException {
		return watch(super.read());
	}

	@Override
	public int read(byte[] bytes, int start, int length) throws IOException {
		return watch(super.read(bytes, start, length));
	}

	private int watch(int found) {
		if (found < 0) {
			ended.countDown();
		}
		return found;
	}
}
