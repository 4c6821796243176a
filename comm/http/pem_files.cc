#include "comm/http/pem_files.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "tensor/errors.h"
#include "tensor/files/access/private_file.h"
#include "tensor/files/atomic_file.h"

namespace dtnn {
namespace {

constexpr int64_t kMostBytes = 1 << 20;

int NoPassword(char*, int, int, void*) { return -1; }

// GnuTLS does not say which of the two is wrong.
absl::Status CheckPair(const PemFiles& files, const HttpServerOptions& options) {
  const auto reads = [](const char* text, size_t size) {
    return std::unique_ptr<BIO, decltype(&BIO_free)>(BIO_new_mem_buf(text, int(size)), BIO_free);
  };
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      PEM_read_bio_X509(reads(files.certificate.data(), files.certificate.size()).get(), nullptr,
                        &NoPassword, nullptr),
      X509_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(reads(files.key.data(), files.key.size() - 1).get(), nullptr,
                              &NoPassword, nullptr),
      EVP_PKEY_free);
  const bool pair = certificate != nullptr && key != nullptr &&
                    X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (certificate == nullptr) {
    return InvalidArgument(options.certificate_file, ": expected a certificate in PEM form");
  }
  if (key == nullptr) {
    return InvalidArgument(options.key_file,
                           ": expected a private key in PEM form, without a password");
  }
  if (pair) return absl::OkStatus();
  return InvalidArgument(options.key_file, ": the key does not belong to the certificate in ",
                         options.certificate_file);
}

}  // namespace

absl::StatusOr<PemFiles> PemFiles::Read(const HttpServerOptions& options) {
  PemFiles files;
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> certificate,
                        ReadFile(options.certificate_file, kMostBytes));
  files.certificate.assign(reinterpret_cast<const char*>(certificate.data()), certificate.size());
  DTNN_ASSIGN_OR_RETURN(std::vector<std::byte> key, ReadPrivateFile(options.key_file, kMostBytes));
  const char* const text = reinterpret_cast<const char*>(key.data());
  files.key.assign(text, text + key.size());
  files.key.push_back('\0');
  OPENSSL_cleanse(key.data(), key.size());
  DTNN_RETURN_IF_ERROR(CheckPair(files, options));
  return files;
}

}  // namespace dtnn
