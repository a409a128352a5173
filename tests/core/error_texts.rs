//! Each error says what is wrong, or which values are valid. The test looks for a characteristic part of each text.

use oncekey::business_key::BusinessKeyUnreadable;
use oncekey::client::intent::{EntryError, SendError};
use oncekey::request::form_key::FieldNameError;
use oncekey::request::override_headers::OverrideHeader;
use oncekey::scope::{AliasError, ScopeError, SourceError};
use oncekey::webhook::target::TargetError;
use oncekey::webhook::{SourcesError, WebhookError, WebhookSecretError};
use oncekey::{IdempotencyKey, RecordError};
use std::fmt::Display;

#[test]
fn every_error_says_what_is_wrong() {
    let key = IdempotencyKey::parse_bare("order-1042").expect("a key");
    let errors: &[(&dyn Display, &str)] = &[
        (&OverrideHeader::Method, "X-HTTP-Method-Override"),
        (&OverrideHeader::Connection, "Connection"),
        (&BusinessKeyUnreadable::Broken, "unique names"),
        (&BusinessKeyUnreadable::OtherType, "one Content-Type, application/json"),
        (&BusinessKeyUnreadable::Charset, "UTF-8"),
        (&FieldNameError::NotAName, "1 to "),
        (&FieldNameError::FilledInByBrowsers, "_charset_"),
        (&EntryError::Damaged, "damaged"),
        (&EntryError::NewerVersion { key }, "newer version"),
        (&SendError::Overtaken, "another key"),
        (&SendError::Voided, "voided"),
        (&SendError::TooOld, "forgotten"),
        (&ScopeError::ShortLivedToken, "a stable API key"),
        (&ScopeError::Unreadable, "Send a credential in UTF-8"),
        (&SourceError::NotASource, "header:NAME, cookie:NAME"),
        (&SourceError::ListedTwice, "only once"),
        (&AliasError::NotAPair, "HASH:TENANT"),
        (&AliasError::NotAHash, "64 hexadecimal digits"),
        (&AliasError::GivenTwice, "twice"),
        (&WebhookSecretError, "24 to 64 bytes in base64"),
        (&SourcesError::NotAPair, "SOURCE:SECRET"),
        (&SourcesError::BadName, "1 to 64 letters"),
        (&SourcesError::BadSecret, "24 to 64 bytes in base64"),
        (&WebhookError::Missing("webhook-id"), "webhook-id"),
        (&WebhookError::BadId, "255 visible ASCII"),
        (&WebhookError::BadTime, "five minutes"),
        (&WebhookError::BadSignature, "v1 signature"),
        (&TargetError::NotAnUrl, "2048"),
        (&TargetError::NotHttps, "https"),
        (&TargetError::Address, "not an IP address"),
        (&TargetError::PrivateName, "private network"),
        (&RecordError::NotARecord, "not a record"),
        (&RecordError::Damaged, "damaged"),
    ];
    for (error, words) in errors {
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
}
