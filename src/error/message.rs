//! The messages of errors: what is wrong, then what to send.

use super::{IdentitySource, Recourse, Rejection};

impl Rejection {
    pub(super) fn message(&self) -> String {
        let text = match self {
            Self::KeyMissing(header) => {
                return format!(
                    "This request needs the header {header}. Send a UUID, and send the same UUID with every retry."
                );
            }
            Self::KeyMalformed(error) => return error.to_string(),
            Self::FormKey(error) => return error.to_string(),
            Self::NoScope(error) => return error.to_string(),
            Self::IdentityUnavailable(IdentitySource::Keys) => {
                "The keys that check the signature of the JWT cannot be fetched, so this request was not executed. Send the same request again."
            }
            Self::IdentityUnavailable(IdentitySource::Origin) => {
                "The API did not say who the caller is, so this request was not executed. Send the same request again."
            }
            Self::IdentityUnavailable(IdentitySource::ReplayAuthorization) => {
                "The API did not say whether the credential is still valid, so the stored response was not returned. Send the same request again."
            }
            Self::Webhook(error) => return error.to_string(),
            Self::BodyUnreadable => {
                "The request body did not arrive completely in time, so this request was not executed. Send it again with the same key."
            }
            Self::BodyTooLarge(limit) => {
                return format!(
                    "The request body is larger than {limit} bytes. Send a smaller body."
                );
            }
            Self::Mismatch => {
                "This idempotency key was already used with a different request. Send the same method, path, query and body, or use a new key."
            }
            Self::InProgress => {
                "A request with this idempotency key is in progress. Retry later with the same key."
            }
            Self::OutcomeUnknown => {
                "An earlier request with this idempotency key may have been executed, but its outcome is unknown. It will not be executed again until the outcome is settled. Do not send it with a new key."
            }
            Self::NotReplayable { http_status: Some(status), .. } => {
                return format!(
                    "The request with this idempotency key returned status {status}, but that response cannot be replayed. Look up the result instead."
                );
            }
            Self::OfBusinessKey { why, business_key } if **why == Self::Mismatch => {
                return format!(
                    "{business_key} was already used with different content. Send the original content, or use another business key."
                );
            }
            Self::OfBusinessKey { why, business_key } => {
                let business_key = business_key.to_string();
                let message = why.message().replace("this idempotency key", &business_key);
                return message.replace("This idempotency key", &business_key);
            }
            Self::NotReplayable { http_status: None, .. } => {
                "A request with this idempotency key exists, but the two requests cannot be compared because the fingerprint secret was removed. Look up the result; do not retry with a new key."
            }
            Self::KeyVoided => {
                "This idempotency key was voided before anything was executed. Use a new one."
            }
            Self::KeyExpired => {
                "The response to this idempotency key has expired. Look up the result, and use a new key only for a new operation."
            }
            Self::OriginUnreachable(recourse) => {
                return format!("The connection to the API failed{}", recourse.text());
            }
            Self::OriginTimedOut(recourse) => {
                return format!("The API did not respond in time{}", recourse.text());
            }
            Self::StoreUnavailable => {
                "The store of idempotency keys is unavailable, so this request was not executed. Send the same request again."
            }
            Self::Overloaded => {
                "Too many large requests are in progress, so this one was not executed. Send the same request again."
            }
            Self::TooLateToDispatch => {
                "This request waited too long to be executed safely, so it was not executed. Send the same request again."
            }
            Self::RecordUnreadable => {
                "The record of this idempotency key cannot be read, so this request was not executed. Do not use a new key. Send the request id to the operator."
            }
            Self::NotAdmin => {
                "This call needs the admin token. Send it in the header Authorization: Bearer TOKEN."
            }
            Self::NotFound => "This path does not exist. Check the URL.",
            Self::NoRecord => {
                "There is no record of this idempotency key. This does not prove that nothing was executed: the request may still be on its way, or its record may have been removed."
            }
            Self::MethodNotAllowed(allow) => {
                return format!("This path does not accept this method. Use {allow}.");
            }
            Self::Invalid(what) => return what.clone(),
            Self::Misconfigured(what) => {
                return format!("This Worker is not configured correctly: {what}");
            }
            Self::NothingToSettle => {
                "The outcome of this key is not unknown, so it cannot be settled. Look up its state instead."
            }
            Self::Internal => {
                "Something went wrong in the gateway. Send the same request again, with the same idempotency key if it has one."
            }
        };
        text.to_owned()
    }
}

impl Recourse {
    /// Returns the second half of a message. The first half says why there is no response.
    const fn text(self) -> &'static str {
        match self {
            Self::Retry => ". Send the request again.",
            Self::LookUp => {
                ". The request may have been executed. Look up its result before you send it again: without an idempotency key, it would be executed a second time."
            }
            Self::RetryWithKey => {
                ". The request may have been executed. Retry with the same idempotency key."
            }
            Self::OnHold => {
                ". The request may have been executed. It will not be executed again until its outcome is settled. Retry later with the same idempotency key, and do not use a new one."
            }
            Self::NotExecuted => {
                ". This attempt was not executed. Retry with the same idempotency key."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_tells_the_caller_the_right_next_step() {
        let text = |recourse| Rejection::OriginUnreachable(recourse).message();
        assert!(!text(Recourse::Retry).contains("key"));
        assert!(text(Recourse::LookUp).contains("Look up its result"));
        assert!(text(Recourse::RetryWithKey).ends_with("Retry with the same idempotency key."));
        assert!(text(Recourse::OnHold).contains("not be executed again until"));
        assert!(text(Recourse::NotExecuted).contains("was not executed. Retry"));
        let late = Rejection::OriginTimedOut(Recourse::RetryWithKey).message();
        assert!(late.starts_with("The API did not respond in time. "), "{late}");
    }
}
