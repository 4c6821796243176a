// Connections of ranks by TLS 1.3: encrypted, and both ends show a certificate.
//
// Both certificates must be of the job's authority, valid today, and for the host at the other end:
// the caller checks the name or address that it called, the called end the address that calls. So
// the certificate of a host names its addresses (make_certificates writes them); within one host
// "localhost" is enough. A name counts as subjectAltName only, not as common name. There are no
// tickets, no early data, no older versions of TLS. The job's secret is proved inside
// (comm/transport/meeting/handshake.h).
//
// Before it has shown its certificate the other end can make this one keep no more than the largest
// messages: a greeting of 128 KiB, certificates of 16 KiB, and OpenSSL's own state of about 50 KiB.
//
// Errors say what is wrong with whose certificate, and are of one of these codes: PermissionDenied
// for certificates, versions, and what is not TLS; Unavailable for a handshake that is cut;
// OutOfRange and Unavailable as stream.h says afterwards.

#ifndef DTNN_COMM_TRANSPORT_TLS_TLS_STREAM_H_
#define DTNN_COMM_TRANSPORT_TLS_TLS_STREAM_H_

#include <string>

#include "absl/status/statusor.h"
#include "comm/transport/tcp/stream_maker.h"

namespace dtnn {

// Files in PEM form.
struct TlsFiles {
  std::string certificate;  // of this host, perhaps with those between it and the authority
  std::string key;          // of the certificate; only its owner may read it
  std::string authority;    // certificates that others' are checked with
};

// SIGPIPE is ignored from then on where nobody handles it. InvalidArgument or PermissionDenied,
// naming the file, where one is missing, unreadable, not private, or does not fit the others.
absl::StatusOr<StreamMaker> TlsStreams(const TlsFiles& files);

// What the certificate at the other end must be for: `host`; but "localhost" where that is an
// address of this host alone for which the certificate of `files`, which serves both ends then, is
// not, and it is for "localhost". The errors of TlsStreams.
absl::StatusOr<std::string> ExpectedName(const TlsFiles& files, const std::string& host);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_TLS_TLS_STREAM_H_
