use std::{path::PathBuf, time::Duration};

/// Notes events of calls as files in a folder. Another call, also of another process, waits for them.
#[derive(Clone)]
pub struct Ledger {
    folder: PathBuf,
}

impl Ledger {
    pub fn new(folder: &str) -> Self {
        Self { folder: folder.into() }
    }

    pub fn note(&self, key: &str, event: &str) -> Result<(), String> {
        std::fs::write(self.path(key, event), "").map_err(|error| error.to_string())
    }

    pub async fn wait(&self, key: &str, event: &str) -> Result<(), String> {
        let path = self.path(key, event);
        let appears = async {
            while !path.exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), appears)
            .await
            .map_err(|_| format!("not {event} within 5 s"))
    }

    fn path(&self, key: &str, event: &str) -> PathBuf {
        self.folder.join(format!("{key} {event}"))
    }
}
