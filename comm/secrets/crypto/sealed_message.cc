#include "comm/secrets/crypto/sealed_message.h"

#include <openssl/evp.h>

#include <algorithm>
#include <climits>
#include <memory>

#include "comm/secrets/crypto/hash.h"
#include "comm/secrets/crypto/openssl_error.h"
#include "comm/secrets/crypto/random_secret.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr size_t kSalt = 16, kTag = 16;
static_assert(kSalt + kTag == kSealBytes);

using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

bool AddBound(EVP_CIPHER_CTX* context, std::span<const uint8_t> bound) {
  int length = 0;
  return bound.empty() ||
         (bound.size() <= INT_MAX &&
          EVP_CipherUpdate(context, nullptr, &length, bound.data(), int(bound.size())) == 1);
}

// A cipher with the message's own key; its nonce is zero.
absl::StatusOr<Context> Start(const Secret& key, std::span<const uint8_t> salt, bool encrypt) {
  DTNN_ASSIGN_OR_RETURN(const Secret own, DeriveSecret(key, "one message", salt));
  const uint8_t nonce[12] = {};
  Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  if (context == nullptr || EVP_CipherInit_ex(context.get(), EVP_chacha20_poly1305(), nullptr,
                                              own.bytes().data(), nonce, encrypt) != 1) {
    return OpenSslError("start ChaCha20-Poly1305");
  }
  return context;
}

// The tag and whether it fits are decided by the last step.
bool Finish(EVP_CIPHER_CTX* context) {
  uint8_t none[16];
  int length = 0;
  return EVP_CipherFinal_ex(context, none, &length) == 1 && length == 0;
}

bool SetTag(EVP_CIPHER_CTX* context, std::span<const uint8_t> tag) {
  return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, int(kTag),
                             const_cast<uint8_t*>(tag.data())) == 1;
}

bool GetTag(EVP_CIPHER_CTX* context, uint8_t* tag) {
  return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, int(kTag), tag) == 1;
}

absl::Status Forged(std::string_view what) {
  ERR_clear_error();
  return absl::UnauthenticatedError(
      StrCat(what,
             ": the tag does not fit; it was damaged, replayed elsewhere, or made by somebody "
             "without the key"));
}

bool Crypt(EVP_CIPHER_CTX* context, std::span<const uint8_t> from, uint8_t* to) {
  int length = 0;
  return from.empty() ||
         (from.size() <= INT_MAX &&
          EVP_CipherUpdate(context, to, &length, from.data(), int(from.size())) == 1);
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> Seal(const Secret& key, std::span<const uint8_t> bound,
                                          std::span<const uint8_t> message) {
  std::vector<uint8_t> sealed(kSealBytes + message.size());
  const std::span<uint8_t> salt = std::span(sealed).first(kSalt);
  DTNN_RETURN_IF_ERROR(FillRandom(salt));
  DTNN_ASSIGN_OR_RETURN(const Context context, Start(key, salt, true));
  if (!AddBound(context.get(), bound) ||
      !Crypt(context.get(), message, sealed.data() + kSealBytes) || !Finish(context.get()) ||
      !GetTag(context.get(), sealed.data() + kSalt)) {
    return OpenSslError("encrypt a message");
  }
  return sealed;
}

absl::StatusOr<WipedVector<uint8_t>> Open(const Secret& key, std::span<const uint8_t> bound,
                                          std::span<const uint8_t> sealed) {
  if (sealed.size() < kSealBytes) {
    return absl::UnauthenticatedError(StrCat("sealed message: has ", sealed.size(),
                                             " bytes, fewer than the ", kSealBytes,
                                             " of its seal"));
  }
  DTNN_ASSIGN_OR_RETURN(const Context context, Start(key, sealed.first(kSalt), false));
  WipedVector<uint8_t> message(sealed.size() - kSealBytes);
  if (!SetTag(context.get(), sealed.subspan(kSalt, kTag)) || !AddBound(context.get(), bound) ||
      !Crypt(context.get(), sealed.subspan(kSealBytes), message.data()) || !Finish(context.get())) {
    return Forged("sealed message");
  }
  return message;
}

absl::StatusOr<std::vector<uint8_t>> MakeTag(const Secret& key, std::span<const uint8_t> header,
                                             std::span<const uint8_t> body) {
  std::vector<uint8_t> tag(kSealBytes);
  DTNN_RETURN_IF_ERROR(FillRandom(std::span(tag).first(kSalt)));
  DTNN_ASSIGN_OR_RETURN(const Context context, Start(key, std::span(tag).first(kSalt), true));
  if (!AddBound(context.get(), header) || !AddBound(context.get(), body) ||
      !Finish(context.get()) || !GetTag(context.get(), tag.data() + kSalt)) {
    return OpenSslError("compute the tag of a message");
  }
  return tag;
}

absl::Status CheckTag(const Secret& key, std::span<const uint8_t> header,
                      std::span<const uint8_t> body, std::span<const uint8_t> tag) {
  if (tag.size() != kSealBytes) return Forged("message");
  DTNN_ASSIGN_OR_RETURN(const Context context, Start(key, tag.first(kSalt), false));
  if (!SetTag(context.get(), tag.subspan(kSalt)) || !AddBound(context.get(), header) ||
      !AddBound(context.get(), body) || !Finish(context.get())) {
    return Forged("message");
  }
  return absl::OkStatus();
}

}  // namespace dtnn
