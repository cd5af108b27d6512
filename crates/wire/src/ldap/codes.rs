//! What the outcomes of operations are called: RFC 4511, 4.1.9 and appendix A.

/// What was asked was done.
pub const SUCCESS: u32 = 0;
/// As many entries were given as were wanted at most, and there are more.
pub const SIZE_LIMIT_EXCEEDED: u32 = 4;
/// Somebody else is to be asked.
pub const REFERRAL: u32 = 10;
/// There is no entry of that name.
pub const NO_SUCH_OBJECT: u32 = 32;
/// The server is occupied.
pub const BUSY: u32 = 51;

/// The server will not.
pub const UNWILLING_TO_PERFORM: u32 = 53;

/// The name of a code; empty for one that the protocol does not name.
pub fn name(code: u32) -> &'static str {
    match code {
        0 => "success",
        1 => "operationsError",
        2 => "protocolError",
        3 => "timeLimitExceeded",
        4 => "sizeLimitExceeded",
        5 => "compareFalse",
        6 => "compareTrue",
        7 => "authMethodNotSupported",
        8 => "strongerAuthRequired",
        10 => "referral",
        11 => "adminLimitExceeded",
        12 => "unavailableCriticalExtension",
        13 => "confidentialityRequired",
        14 => "saslBindInProgress",
        16 => "noSuchAttribute",
        17 => "undefinedAttributeType",
        18 => "inappropriateMatching",
        19 => "constraintViolation",
        20 => "attributeOrValueExists",
        21 => "invalidAttributeSyntax",
        32 => "noSuchObject",
        33 => "aliasProblem",
        34 => "invalidDNSyntax",
        36 => "aliasDereferencingProblem",
        48 => "inappropriateAuthentication",
        49 => "invalidCredentials",
        50 => "insufficientAccessRights",
        51 => "busy",
        52 => "unavailable",
        53 => "unwillingToPerform",
        54 => "loopDetect",
        64 => "namingViolation",
        65 => "objectClassViolation",
        66 => "notAllowedOnNonLeaf",
        67 => "notAllowedOnRDN",
        68 => "entryAlreadyExists",
        69 => "objectClassModsProhibited",
        71 => "affectsMultipleDSAs",
        80 => "other",
        _ => "",
    }
}
