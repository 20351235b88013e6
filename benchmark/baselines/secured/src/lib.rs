//! TLS as every Rust server offers it.

use std::error::Error;
use std::path::Path;
use std::process::exit;
use std::sync::Arc;

use rustls::crypto::ring::{cipher_suite, default_provider};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::ServerConfig;

/// Gives the configuration with this certificate and these protocols, the best
/// first, or ends the program. Its suites have AES-128-GCM.
pub fn tls_config(
    certificate: &Path,
    key: &Path,
    protocols: &[&[u8]],
) -> ServerConfig {
    let mut config = read(certificate, key).unwrap_or_else(|error| {
        eprintln!("{certificate:?}, {key:?}: {error}");
        exit(2)
    });
    config.alpn_protocols = protocols.iter().map(|one| one.to_vec()).collect();
    config
}

fn read(
    certificate: &Path,
    key: &Path,
) -> Result<ServerConfig, Box<dyn Error>> {
    let chain = CertificateDer::pem_file_iter(certificate)?
        .collect::<Result<Vec<_>, _>>()?;
    let provider = CryptoProvider {
        cipher_suites: vec![
            cipher_suite::TLS13_AES_128_GCM_SHA256,
            cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        ],
        ..default_provider()
    };
    Ok(ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?)
}
