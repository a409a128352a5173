//! What operators ask: questions to many shards at once.
//!
//! A question is text, `word<tab>part<tab>part…`, and its answer is lines. A shard that does not
//! know the word gives an error.

use crate::http::context::Caller;
use crate::http::request::Incoming;
use crate::http::response::Answer;
use crate::shard::client::shard;
use oncekey::Rejection;
use platform::durable_object::received;
use worker::Env;

/// How many questions are asked at once.
pub(crate) const AT_ONCE: usize = 16;

/// A question to a shard: which, and what.
pub(crate) type Question = (u8, String);

/// Something that takes many questions to find out.
pub(crate) trait Inquiry {
    /// What to ask next; nothing once it is found out.
    fn next(&mut self) -> Vec<Question>;

    /// The answers to what was asked.
    fn answered(&mut self, texts: Vec<String>);

    /// What was found out.
    fn finish(&self, caller: &Caller, incoming: &Incoming) -> Result<Answer, Rejection>;
}

/// Asks until it is found out.
pub(crate) async fn find_out(
    env: &Env,
    caller: &Caller,
    incoming: &Incoming,
    mut inquiry: Box<dyn Inquiry + '_>,
) -> Result<Answer, Rejection> {
    loop {
        let questions = inquiry.next();
        if questions.is_empty() {
            return inquiry.finish(caller, incoming);
        }
        inquiry.answered(shards(env, questions).await?);
    }
}

/// Asks shards, all at once, each its own question.
async fn shards(env: &Env, questions: Vec<Question>) -> Result<Vec<String>, Rejection> {
    let asked: worker::Result<_> = async {
        let sent =
            questions.iter().map(|(number, asked)| shard(env, *number)?.send(asked.as_bytes()));
        let mut answers = Vec::new();
        for sent in sent.collect::<Vec<_>>() {
            let (status, bytes) = received(sent?).await?;
            let text = String::from_utf8(bytes).ok().filter(|_| status == 200);
            answers.push(text.ok_or("a shard does not know the question")?);
        }
        Ok(answers)
    }
    .await;
    asked.map_err(|error| {
        worker::console_error!("ask: {error}");
        Rejection::StoreUnavailable
    })
}
