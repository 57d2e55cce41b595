//! Keys: the vectors of the RFCs, and what is refused.

use super::*;

/// RFC 8037, appendix A.2.
pub(crate) const ED25519: &str =
    r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
/// RFC 7515, appendix A.3.
const P256: &str = r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#;
/// RFC 7515, appendix A.2.
const RSA: &str = r#"{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}"#;

fn key(text: &str) -> Key {
    read_keys(text.as_bytes()).unwrap().remove(0)
}

fn refused(text: &str) -> String {
    read_keys(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn the_published_vectors_of_each_algorithm_verify() {
    let claims = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    let vectors = [
        (
            ED25519,
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc".to_owned(),
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        ),
        (
            P256,
            format!("eyJhbGciOiJFUzI1NiJ9.{claims}"),
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        ),
        (
            RSA,
            format!("eyJhbGciOiJSUzI1NiJ9.{claims}"),
            "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
        ),
    ];

    for (jwk, message, signature) in vectors {
        let key = key(jwk);
        let mut signature = decode_base64url(signature).unwrap();

        assert!(key.verifies(message.as_bytes(), &signature), "{key:?}");
        assert!(!key.verifies(format!("{message}x").as_bytes(), &signature));
        signature[7] ^= 1;
        assert!(!key.verifies(message.as_bytes(), &signature));
        assert!(!key.verifies(message.as_bytes(), &[]));
    }
}

#[test]
fn a_thumbprint_is_that_of_the_rfc_and_no_name_changes_it() {
    let plain = key(ED25519);
    let named = key(&ED25519.replace("\"kty\"", "\"kid\":\"k1\",\"alg\":\"EdDSA\",\"kty\""));

    // RFC 8037, appendix A.3.
    assert_eq!(
        encode_base64url(&plain.thumbprint()),
        "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
    );
    assert_eq!(named.thumbprint(), plain.thumbprint());
    assert_eq!(key(&named.jwk()), named);
}

#[test]
fn keys_that_prove_nothing_or_are_for_something_else_are_refused() {
    let private = ED25519.replace(
        "\"x\"",
        "\"d\":\"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A\",\"x\"",
    );
    let short = RSA.replace("ofgWCuLjybRlzo0tZWJj", "AQAB");

    insta::assert_snapshot!(refused(&private), @"a private key: only the public half is needed here");
    insta::assert_snapshot!(refused(r#"{"kty":"oct","k":"c2VjcmV0"}"#), @"a symmetric key: a signature with it could come from anybody who has it");
    insta::assert_snapshot!(refused(r#"{"kty":"OKP","crv":"X25519","x":"AA"}"#), @"a key of type OKP on the curve X25519");
    insta::assert_snapshot!(refused(&P256.replace("\"kty\"", "\"use\":\"enc\",\"kty\"")), @"a key for encryption");
    insta::assert_snapshot!(refused(&P256.replace("\"kty\"", "\"key_ops\":[\"sign\"],\"kty\"")), @"a key that is not for verifying");
    insta::assert_snapshot!(refused(&P256.replace("\"kty\"", "\"alg\":\"RS256\",\"kty\"")), @"a key for another algorithm than its type has here");
    insta::assert_snapshot!(refused(&short), @"a key of a length that is not used");
    insta::assert_snapshot!(refused(r#"{"kty":"OKP","crv":"Ed25519","x":"AAAA"}"#), @"a key of a length that is not used");
    insta::assert_snapshot!(refused("[]"), @"neither a JWK nor a JWK Set: it is no object");
    insta::assert_snapshot!(refused("-----BEGIN PUBLIC KEY-----"), @"no JSON");
}

#[test]
fn in_a_set_keys_of_other_kinds_are_passed_over() {
    let set = format!(r#"{{"keys":[{{"kty":"oct","k":"AA"}},7,{ED25519},{P256}]}}"#);

    let keys = read_keys(set.as_bytes()).unwrap();

    assert_eq!(keys, [key(ED25519), key(P256)]);
    insta::assert_snapshot!(refused(r#"{"keys":[{"kty":"oct","k":"AA"}]}"#), @"no key for EdDSA, ES256 or RS256 is in it");
    insta::assert_snapshot!(refused(&format!("{{\"keys\":[{}]}}", vec!["1"; 65].join(","))), @"more than 64 keys");
}
