#include "apps/make_certificates/run.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/flags/value.h"
#include "comm/federation/messages.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/secrets/crypto/ed25519.h"
#include "comm/secrets/crypto/ed25519_file.h"
#include "comm/secrets/crypto/random_secret.h"
#include "comm/transport/tls/authority.h"
#include "tensor/errors.h"
#include "tensor/files/access/private_file.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/make_folder.h"
#include "tensor/files/output_file.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostBytes = 64 << 10;
constexpr char kAuthorityStem[] = "authority", kAuthorityName[] = "DTNN authority";

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

// What is in files there, or a new one, which is in none yet.
struct Authority {
  Certificate certificate;
  bool is_new = false;
};

absl::StatusOr<Authority> FindAuthority(const std::string& stem, const Validity& validity) {
  std::error_code ignored;
  const bool certificate = fs::exists(stem + ".pem", ignored),
             key = fs::exists(stem + ".key", ignored);
  if (certificate != key) {
    return FailedPrecondition(stem, certificate ? ".key" : ".pem", ": is missing, but ", stem,
                              certificate ? ".pem" : ".key",
                              " is there; put it back, or remove the other for a new authority");
  }
  if (!certificate) {
    DTNN_ASSIGN_OR_RETURN(Certificate authority, MakeAuthority(kAuthorityName, validity));
    return Authority{.certificate = std::move(authority), .is_new = true};
  }
  // Anyone else who knows the key can make certificates for this job's hosts.
  DTNN_RETURN_IF_ERROR(CheckPrivateFile(stem + ".key"));
  Authority authority;
  DTNN_ASSIGN_OR_RETURN(authority.certificate.certificate, ReadText(stem + ".pem"));
  DTNN_ASSIGN_OR_RETURN(authority.certificate.key, ReadText(stem + ".key"));
  return authority;
}

// `host`: its names, with commas between them. Usage errors.
absl::StatusOr<Certificate> MakeForHost(const Certificate& authority, const std::string& host,
                                        const Validity& validity) {
  std::vector<std::string> names;
  for (const std::string_view name : SplitList(host)) names.emplace_back(name);
  const absl::StatusOr<Certificate> certificate = MakeHostCertificate(authority, names, validity);
  if (!certificate.ok()) {
    return WithExitCode(WithContext(certificate.status(), Quoted(host)), kExitUsage);
  }
  if (names[0] == kAuthorityStem) {
    return UsageError(Quoted(names[0]), ": is not a name for a host here");
  }
  return certificate;
}

// A host's files may be replaced, but not those of another authority.
absl::Status CheckOutputs(const std::string& stem) {
  const absl::StatusOr<std::string> there = ReadText(stem + ".pem");
  const bool ours = there.ok() && IssuerOf(*there) == kAuthorityName;
  DTNN_RETURN_IF_ERROR(
      CheckOutputFile(stem + ".pem", "a certificate", [ours](std::string_view) { return ours; }));
  return CheckOutputFile(stem + ".key", "the key of such a certificate",
                         [ours](std::string_view start) {
                           return ours && start.starts_with("-----BEGIN PRIVATE KEY-----");
                         });
}

}  // namespace

absl::Status MakeCertificates(const CertificateOptions& options, std::ostream& out) {
  const Validity validity = {.until = std::chrono::hours(24 * options.days)};
  const std::string folder = (fs::path(options.folder) / "").string();
  DTNN_ASSIGN_OR_RETURN(const Authority authority,
                        FindAuthority(folder + kAuthorityStem, validity));
  // All of them, before a file is written.
  std::vector<std::pair<std::string, Certificate>> certificates;
  if (authority.is_new) certificates.emplace_back(kAuthorityStem, authority.certificate);
  for (const std::string& host : options.hosts) {
    DTNN_ASSIGN_OR_RETURN(Certificate made, MakeForHost(authority.certificate, host, validity));
    const std::string stem(SplitList(host)[0]);
    if (std::ranges::count(certificates, stem, &std::pair<std::string, Certificate>::first) > 0) {
      return UsageError(Quoted(stem),
                        ": is the first name of two hosts, whose files are called so");
    }
    certificates.emplace_back(stem, std::move(made));
  }
  DTNN_RETURN_IF_ERROR(MakeFolder(options.folder, StrCat(options.folder, ": cannot be created")));
  for (const auto& [stem, certificate] : certificates) {
    DTNN_RETURN_IF_ERROR(CheckOutputs(folder + stem));
  }
  for (const auto& [stem, certificate] : certificates) {
    DTNN_RETURN_IF_ERROR(Write(certificate, folder + stem, out));
  }
  out << "Copy authority.pem and each host's own two files to that host; keep authority.key "
         "here.\n";
  return absl::OkStatus();
}

absl::Status MakeIdentities(const CertificateOptions& options, std::ostream& out) {
  const fs::path folder(options.folder);
  std::set<std::string> names;
  std::error_code ignored;
  for (const std::string& name : options.identities) {
    const absl::Status good = federation::CheckClientName(name);
    if (!good.ok()) return UsageError("--identities: ", good.message());
    if (!names.insert(name).second) return UsageError("--identities: names ", name, " twice");
    const std::string path = (folder / (name + ".key")).string();
    if (fs::exists(fs::symlink_status(path, ignored))) {
      return FailedPrecondition(path, ": is there; move it away, if ", name, " needs a new key");
    }
  }
  DTNN_RETURN_IF_ERROR(MakeFolder(options.folder, StrCat(options.folder, ": cannot be created")));
  for (const std::string& name : options.identities) {
    const std::string path = (folder / (name + ".key")).string();
    DTNN_ASSIGN_OR_RETURN(const Secret secret, RandomSecret());
    DTNN_ASSIGN_OR_RETURN(const Ed25519PublicKey key, Ed25519PublicKeyOf(secret));
    DTNN_RETURN_IF_ERROR(WriteEd25519File(path, secret));
    out << "# " << path << " is for " << name << " alone\n" << name << " " << ToText(key) << "\n";
  }
  return absl::OkStatus();
}

}  // namespace dtnn
