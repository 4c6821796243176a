#include "comm/transport/tls/tls_error.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <cerrno>
#include <cstring>

#include "tensor/errors.h"

namespace dtnn {
namespace {

template <typename... Pieces>
absl::Status Refused(const Pieces&... pieces) {
  return absl::PermissionDeniedError(StrCat("TLS: ", pieces...));
}

// An error of the other end's certificate.
absl::Status CertificateError(long result, const std::string& other_end) {
  switch (result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return Refused("the certificate of ", other_end,
                     " has expired; make a new one, and check the clocks of both hosts");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Refused("the certificate of ", other_end,
                     " is not valid yet; check the clocks of both hosts");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return Refused("the certificate at the other end is not for ", other_end,
                     "; it must name the host as it is called, and each address of it");
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return Refused("the certificate of ", other_end,
                     " is of another authority; give all hosts certificates of one");
    case X509_V_ERR_INVALID_PURPOSE:
      return Refused("the certificate of ", other_end,
                     " is not for this purpose; it must allow both ends of TLS (serverAuth, "
                     "clientAuth)");
    default:
      return Refused("the certificate of ", other_end, ": ", X509_verify_cert_error_string(result));
  }
}

// What the other end has said, or what came instead of TLS.
absl::Status ProtocolError(int reason, const std::string& other_end) {
  switch (reason) {
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return Refused(other_end, " refuses this host's certificate: it has expired");
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return Refused(other_end, " refuses this host's certificate: it is of another authority");
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
      return Refused(other_end,
                     " refuses this host's certificate: it is not for the address from which this "
                     "host calls, or not valid yet");
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      return Refused(other_end, " refuses this host's certificate: it is not for clients");
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return Refused(other_end, " asks for a certificate of its authority");
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return Refused(other_end, " shows no certificate");
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_VERSION_TOO_LOW:
      return Refused(other_end, " speaks only older versions than TLS 1.3");
    case SSL_R_EXCESSIVE_MESSAGE_SIZE:
      return Refused(other_end,
                     " sent a message of the handshake that is too long; it may show "
                     "certificates of at most 16 KiB");
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_BAD_RECORD_TYPE:
      return Refused(other_end,
                     " does not speak TLS; is it a rank that was started to talk in plain?");
    default:
      break;
  }
  const char* const text = ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, reason));
  return Refused(other_end, ": ", text == nullptr ? "an error without a name" : text);
}

}  // namespace

absl::Status TlsError(const SSL* ssl, int error, int system_error, const std::string& other_end) {
  const unsigned long first = ERR_peek_error();
  ERR_clear_error();
  // (After an error SSL_is_init_finished() says no again.)
  const bool greeted = SSL_get_peer_finished(ssl, nullptr, 0) > 0;
  const int reason = ERR_GET_REASON(first);
  const bool ends = reason == SSL_R_UNEXPECTED_EOF_WHILE_READING && error == SSL_ERROR_SSL;
  if (ends || (error == SSL_ERROR_SYSCALL &&
               (system_error == 0 || system_error == ECONNRESET || system_error == EPIPE))) {
    // A process that is killed closes its connections without a word.
    return greeted ? absl::OutOfRangeError("closed by the other side")
                   : Unavailable("TLS: ", other_end, " cut the connection during the handshake");
  }
  if (error == SSL_ERROR_SYSCALL) return Unavailable(strerror(system_error));
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    return CertificateError(SSL_get_verify_result(ssl), other_end);
  }
  return ProtocolError(reason, other_end);
}

absl::Status OpenSslReason() {
  const unsigned long first = ERR_peek_error();
  ERR_clear_error();
  const char* const text = ERR_reason_error_string(first);
  return InvalidArgument(text == nullptr ? "an error without a name" : text);
}

}  // namespace dtnn
