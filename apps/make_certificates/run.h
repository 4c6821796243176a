// What make_certificates does: writes the certificates with which ranks on several hosts recognise
// each other, made by a small authority of their own.

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
};

// Writes HOST.pem and HOST.key for each host, and authority.pem and authority.key unless they are
// there already; files with keys can be read by their owner only. Usage errors for names that are
// none, before anything is written. Tells on `out` what was written.
absl::Status MakeCertificates(const CertificateOptions& options, std::ostream& out);

}  // namespace dtnn

#endif  // DTNN_APPS_MAKE_CERTIFICATES_RUN_H_
