#include "comm/secrets/crypto/hash.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <memory>
#include <vector>

#include "comm/secrets/crypto/openssl_error.h"

namespace dtnn {

absl::StatusOr<Hash> Sha256(std::initializer_list<std::span<const uint8_t>> pieces) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  bool done = context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  for (const std::span<const uint8_t> piece : pieces) {
    done = done && EVP_DigestUpdate(context.get(), piece.data(), piece.size()) == 1;
  }
  Hash hash;
  if (!done || EVP_DigestFinal_ex(context.get(), hash.data(), nullptr) != 1) {
    return OpenSslError("compute SHA-256");
  }
  return hash;
}

absl::StatusOr<Hash> Hmac(std::span<const uint8_t> key,
                          std::initializer_list<std::span<const uint8_t>> pieces) {
  const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> hmac(
      EVP_MAC_fetch(nullptr, "HMAC", nullptr), EVP_MAC_free);
  const std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context(
      hmac == nullptr ? nullptr : EVP_MAC_CTX_new(hmac.get()), EVP_MAC_CTX_free);
  if (context == nullptr) return OpenSslError("find HMAC");
  // OpenSSL only reads what it is given here.
  char name[] = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
      OSSL_PARAM_construct_end(),
  };
  bool done = EVP_MAC_init(context.get(), key.data(), key.size(), parameters) == 1;
  for (const std::span<const uint8_t> piece : pieces) {
    done = done && EVP_MAC_update(context.get(), piece.data(), piece.size()) == 1;
  }
  Hash hash;
  size_t size = 0;
  if (!done || EVP_MAC_final(context.get(), hash.data(), &size, hash.size()) != 1 ||
      size != hash.size()) {
    return OpenSslError("compute HMAC-SHA-256");
  }
  return hash;
}

absl::StatusOr<Secret> DeriveSecret(const Secret& secret, std::string_view purpose,
                                    std::span<const uint8_t> context) {
  // The purpose and a zero byte, which it does not contain, then the context.
  std::vector<uint8_t> info(purpose.begin(), purpose.end());
  info.push_back(0);
  info.insert(info.end(), context.begin(), context.end());

  const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> hkdf(
      EVP_KDF_fetch(nullptr, "HKDF", nullptr), EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> derivation(
      hkdf == nullptr ? nullptr : EVP_KDF_CTX_new(hkdf.get()), EVP_KDF_CTX_free);
  if (derivation == nullptr) return OpenSslError("find HKDF");
  // OpenSSL only reads what it is given here.
  char hash[] = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, hash, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY,
                                        const_cast<uint8_t*>(secret.bytes().data()), Secret::kSize),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
      OSSL_PARAM_construct_end(),
  };
  Secret derived;
  if (EVP_KDF_derive(derivation.get(), derived.bytes().data(), Secret::kSize, parameters) != 1) {
    return OpenSslError("derive a key with HKDF");
  }
  return derived;
}

}  // namespace dtnn
