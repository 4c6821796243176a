// A small authority for jobs, tests and laboratories: makes certificates for hosts.
//
// Keys are of P-256. A host's certificate serves both ends of TLS and names the host as others call
// it, and its addresses. The authority's key signs anything: anyone who has it can pretend
// to be any host.

#ifndef DTNN_COMM_TRANSPORT_TLS_AUTHORITY_H_
#define DTNN_COMM_TRANSPORT_TLS_AUTHORITY_H_

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

// Both in PEM form; the key without a passphrase.
struct Certificate {
  std::string certificate, key;
};

// From now. A day before it by default: clocks of hosts differ.
struct Validity {
  std::chrono::seconds from = -std::chrono::hours(24);
  std::chrono::seconds until = std::chrono::hours(24 * 365);
};

// `name`: for people.
absl::StatusOr<Certificate> MakeAuthority(std::string_view name, const Validity& validity = {});

// For a host with these names and addresses, at least one. InvalidArgument for what is neither, and
// for an authority that is none.
absl::StatusOr<Certificate> MakeHostCertificate(const Certificate& authority,
                                                const std::vector<std::string>& names,
                                                const Validity& validity = {});

// The name of the authority that has signed a certificate in PEM form; empty where it is none.
std::string IssuerOf(const std::string& certificate);

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_TLS_AUTHORITY_H_
