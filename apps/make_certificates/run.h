// What make_certificates does: writes the certificates with which ranks on several hosts recognise
// each other, made by a small authority of their own, and the keys by which clients of a federation
// prove their names.

#ifndef DTNN_APPS_MAKE_CERTIFICATES_RUN_H_
#define DTNN_APPS_MAKE_CERTIFICATES_RUN_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace dtnn {

struct CertificateOptions {
  std::string folder = {};
  int64_t days = 365;
  // One per host: its names and addresses, separated by commas. The first names its files.
  std::vector<std::string> hosts = {};
  // Names of clients of a federation.
  std::vector<std::string> identities = {};
};

// Writes HOST.pem and HOST.key for each host, and authority.pem and authority.key unless they are
// there already; files with keys can be read by their owner only. Usage errors for names that are
// none, before anything is written. Tells on `out` what was written.
absl::Status MakeCertificates(const CertificateOptions& options, std::ostream& out);

// Writes NAME.key for each client, and on `out` the lines of a list for the aggregator, which has
// comments for the rest. FailedPrecondition where a file of that name is there: nothing else could
// prove the name that it proves.
absl::Status MakeIdentities(const CertificateOptions& options, std::ostream& out);

}  // namespace dtnn

#endif  // DTNN_APPS_MAKE_CERTIFICATES_RUN_H_
