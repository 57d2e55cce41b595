//! A little A2A agent inside this program, for the tour: it lives on a loopback port until it is dropped.
//!
//! It speaks HTTP+JSON as far as `send` needs it. What the message begins with decides the answer:
//! `echo` a Message, `ask` a task that waits for input, anything else a completed task.

use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest request that it reads, in bytes, head and body each.
const REQUEST_BYTES_MAX: u64 = 1 << 20;
/// How long it waits for a request that does not come.
const PATIENCE: Duration = Duration::from_secs(5);

/// What an agent of the tour is like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Character {
    /// What it is called in its card.
    pub(super) name: &'static str,
    /// What it answers where it is asked for its opinion, the first time and from then on.
    pub(super) opinions: [&'static str; 2],
}

impl Default for Character {
    fn default() -> Self {
        Self {
            name: "Loopback",
            opinions: ["ship", "ship"],
        }
    }
}

/// What an agent remembers.
struct Memory {
    address: SocketAddr,
    character: Character,
    /// How often it was asked for its opinion.
    asked: usize,
    /// Whether the task with its opinion was looked at.
    looked: bool,
}

/// The agent, as long as it is held.
pub(super) struct LoopbackAgent {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl LoopbackAgent {
    /// Listens before it returns.
    pub(super) fn start(character: Character) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        let mut memory = Memory {
            address,
            character,
            asked: 0,
            looked: false,
        };
        let serve = move || {
            for connection in listener.incoming() {
                if seen.load(Ordering::Relaxed) {
                    return;
                }
                // One after the other: the tour makes one call at a time.
                if let Err(error) =
                    connection.and_then(|connection| answer(&connection, &mut memory))
                {
                    tracing::debug!(%error, "a connection to the loopback agent ended early");
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("demo-agent".to_owned())
            .spawn(serve)?;
        Ok(Self {
            address,
            ended,
            thread: Some(thread),
        })
    }

    /// Its base URL.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for LoopbackAgent {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // A connection wakes the listener, which then sees that it has ended.
        let woken = TcpStream::connect_timeout(&self.address, PATIENCE).is_ok();
        if let Some(thread) = self.thread.take()
            && woken
            && thread.join().is_err()
        {
            tracing::debug!("the loopback agent ended with a panic");
        }
    }
}

fn answer(connection: &TcpStream, memory: &mut Memory) -> io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(connection.take(REQUEST_BYTES_MAX));
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value
                .trim()
                .parse::<u64>()
                .unwrap_or(0)
                .min(REQUEST_BYTES_MAX);
        }
    }
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    let mut words = request.split_whitespace();
    let (status, media, value) = match (words.next(), words.next()) {
        (Some("GET"), Some("/.well-known/agent-card.json")) => {
            ("200 OK", "application/json", memory.card())
        }
        (Some("POST"), Some("/a2a/message:send")) => {
            ("200 OK", "application/a2a+json", memory.reply(&body))
        }
        (Some("GET"), Some(path)) if path.starts_with("/a2a/tasks/opinion-") => {
            ("200 OK", "application/a2a+json", memory.look(path))
        }
        _ => (
            "404 Not Found",
            "application/json",
            json!({"error": {"code": 404}}),
        ),
    };
    let text = value.to_string();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {media}\r\ncontent-length: {}\r\n\
         cache-control: max-age=60\r\netag: \"1\"\r\nconnection: close\r\n\r\n",
        text.len()
    );
    let mut writer = connection;
    writer.write_all(head.as_bytes())?;
    writer.write_all(text.as_bytes())?;
    connection.shutdown(Shutdown::Write)
}

impl Memory {
    fn card(&self) -> Value {
        let address = self.address;
        json!({
            "name": self.character.name, "description": "Lives inside missive for the length of the tour.",
            "version": "1.0.0",
            "supportedInterfaces": [{
                "url": format!("http://{address}/a2a"),
                "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0",
            }],
            "capabilities": {"streaming": false, "pushNotifications": false},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{
                "id": "echo", "name": "Echo", "description": "Says what it is told.",
                "tags": ["demo"],
            }],
        })
    }

    fn reply(&mut self, body: &[u8]) -> Value {
        let request: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = request
            .pointer("/message/parts/0/text")
            .and_then(Value::as_str)
            .unwrap_or("");
        let context = request
            .pointer("/message/contextId")
            .and_then(Value::as_str);
        let context = context.unwrap_or("tour");
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let said = |id: &str, text: &str| {
            json!({
                "messageId": id, "contextId": context, "role": "ROLE_AGENT",
                "parts": [{"text": text}],
            })
        };
        match word {
            "echo" => json!({"message": said("reply-1", rest)}),
            "ask" => json!({"task": {
                "id": "task-2", "contextId": context,
                "status": {
                    "state": "TASK_STATE_INPUT_REQUIRED",
                    "message": said("question-1", "Which colour?"),
                },
            }}),
            "opinion:" => {
                self.asked += 1;
                self.looked = false;
                json!({"task": self.task(context, "TASK_STATE_WORKING", "let me think")})
            }
            _ => json!({"task": {
                "id": "task-1", "contextId": context,
                "status": {"state": "TASK_STATE_COMPLETED"},
                "artifacts": [{
                    "artifactId": "report", "name": "report",
                    "parts": [{"text": format!("A report {rest}: all is well.")}],
                }],
            }}),
        }
    }

    /// How the task with its opinion stands: at work when it is first looked at, and then done.
    fn look(&mut self, path: &str) -> Value {
        let context = path
            .split_once("-in-")
            .map_or("tour", |(_, context)| context);
        let context = context.split('?').next().unwrap_or(context);
        if !self.looked {
            self.looked = true;
            return self.task(context, "TASK_STATE_WORKING", "let me think");
        }
        let [first, later] = self.character.opinions;
        let opinion = if self.asked > 1 { later } else { first };
        self.task(context, "TASK_STATE_COMPLETED", opinion)
    }

    fn task(&self, context: &str, state: &str, says: &str) -> Value {
        json!({
            "id": format!("opinion-{}-in-{context}", self.asked), "contextId": context,
            "status": {
                "state": state,
                "message": {
                    "messageId": format!("{state}-{}", self.asked), "contextId": context,
                    "role": "ROLE_AGENT", "parts": [{"text": says}],
                },
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(agent: &LoopbackAgent, request: &str) -> String {
        let mut connection = TcpStream::connect(agent.address).unwrap();
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn the_loopback_agent_has_a_card_and_echoes() {
        let agent = LoopbackAgent::start(Character::default()).unwrap();
        let body = r#"{"message":{"parts":[{"text":"echo hi"}]}}"#;

        let card = ask(&agent, "GET /.well-known/agent-card.json HTTP/1.1\r\n\r\n");
        let length = body.len();
        let reply = ask(
            &agent,
            &format!("POST /a2a/message:send HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}"),
        );

        assert!(card.contains(&format!("{}/a2a", agent.url())), "{card}");
        assert!(reply.contains(r#""text":"hi""#), "{reply}");
    }
}
