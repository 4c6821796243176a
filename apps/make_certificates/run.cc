#include "apps/make_certificates/run.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>

#include "apps/flags/value.h"
#include "comm/job/exit_code.h"
#include "comm/tls/authority.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/private_file.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostBytes = 64 << 10;

absl::StatusOr<std::string> ReadText(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ReadFile(path, kMostBytes));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

absl::Status Write(const Certificate& certificate, const std::string& stem, std::ostream& out) {
  DTNN_RETURN_IF_ERROR(WritePrivateFile(stem + ".key", certificate.key));
  DTNN_RETURN_IF_ERROR(
      WriteFileAtomically(stem + ".pem", std::as_bytes(std::span(certificate.certificate))));
  std::error_code ignored;
  fs::permissions(stem + ".pem", fs::perms::group_read | fs::perms::others_read,
                  fs::perm_options::add, ignored);
  out << "wrote " << stem << ".pem and " << stem << ".key\n";
  return absl::OkStatus();
}

absl::StatusOr<Certificate> FindAuthority(const std::string& stem, const Validity& validity,
                                          std::ostream& out) {
  std::error_code ignored;
  const bool certificate = fs::exists(stem + ".pem", ignored),
             key = fs::exists(stem + ".key", ignored);
  if (certificate != key) {
    return FailedPrecondition(stem, certificate ? ".key" : ".pem", ": is missing, but ", stem,
                              certificate ? ".pem" : ".key",
                              " is there; put it back, or remove the other for a new authority");
  }
  if (!certificate) {
    DTNN_ASSIGN_OR_RETURN(const Certificate authority, MakeAuthority("DTNN authority", validity));
    DTNN_RETURN_IF_ERROR(Write(authority, stem, out));
    return authority;
  }
  // Who else knows the key can make certificates of this job's hosts.
  DTNN_RETURN_IF_ERROR(CheckPrivateFile(stem + ".key"));
  Certificate authority;
  DTNN_ASSIGN_OR_RETURN(authority.certificate, ReadText(stem + ".pem"));
  DTNN_ASSIGN_OR_RETURN(authority.key, ReadText(stem + ".key"));
  return authority;
}

}  // namespace

absl::Status MakeCertificates(const CertificateOptions& options, std::ostream& out) {
  const Validity validity = {.until = std::chrono::hours(24 * options.days)};
  std::error_code error;
  fs::create_directories(options.folder, error);
  if (error) {
    return FailedPrecondition(options.folder, ": cannot be made: ", error.message());
  }
  const std::string folder = (fs::path(options.folder) / "").string();
  DTNN_ASSIGN_OR_RETURN(const Certificate authority,
                        FindAuthority(folder + "authority", validity, out));
  for (const std::string& host : options.hosts) {
    std::vector<std::string> names;
    for (const std::string_view name : SplitList(host)) names.emplace_back(name);
    const absl::StatusOr<Certificate> certificate = MakeHostCertificate(authority, names, validity);
    if (!certificate.ok()) {
      return WithExitCode(WithContext(certificate.status(), Quoted(host)), kExitUsage);
    }
    if (names[0] == "authority") return UsageError("\"authority\": is no name for a host here");
    DTNN_RETURN_IF_ERROR(Write(*certificate, folder + names[0], out));
  }
  out << "Copy authority.pem and each host's own two files to that host; keep authority.key "
         "here.\n";
  return absl::OkStatus();
}

}  // namespace dtnn
