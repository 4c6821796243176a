#include "comm/secrets/ckks/keys.h"

#include "comm/secrets/ckks/message.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/secrets/crypto/random_secret.h"
#include "tensor/status_macros.h"

namespace dtnn::ckks {

absl::StatusOr<SecretKey> SecretKey::FromSeed(const CkksContext& context, const Secret& seed) {
  DTNN_ASSIGN_OR_RETURN(const Secret own,
                        DeriveSecret(seed, "CKKS secret key", context.fingerprint()));
  DTNN_ASSIGN_OR_RETURN(ChaCha20Stream stream, ChaCha20Stream::Create(own.bytes()));
  SecretKey key;
  key.s_ = Multiplier(context, TransformedTernary(context, stream));
  return key;
}

absl::StatusOr<std::vector<uint64_t>> PublicHalf(const CkksContext& context, const SecretKey& key,
                                                 std::span<const uint64_t> a) {
  DTNN_ASSIGN_OR_RETURN(ChaCha20Stream random, ChaCha20Stream::Random());
  const WipedVector<uint64_t> error = TransformedError(context, random);
  std::vector<uint64_t> b(context.size());
  context.ForEach([&](const Modulus& q, size_t i) {
    b[i] = q.Subtract(error[i], q.Multiply(a[i], key.s()[i]));
  });
  return b;
}

absl::StatusOr<PublicKey> MakePublicKey(const CkksContext& context, const SecretKey& key) {
  PublicKey result;
  DTNN_RETURN_IF_ERROR(FillRandom(result.seed));
  DTNN_ASSIGN_OR_RETURN(const std::vector<uint64_t> a, context.Expand(result.seed));
  DTNN_ASSIGN_OR_RETURN(const std::vector<uint64_t> b, PublicHalf(context, key, a));
  result.a = Multiplier(context, a);
  result.b = Multiplier(context, b);
  return result;
}

std::vector<uint8_t> ToBytes(const CkksContext& context, const PublicKey& key) {
  return MessageToBytes(context, MessageKind::kPublicKey, 0, key.seed, {key.b.values()});
}

absl::StatusOr<PublicKey> PublicKeyFromBytes(const CkksContext& context,
                                             std::span<const uint8_t> bytes) {
  DTNN_ASSIGN_OR_RETURN(const Message message,
                        MessageFromBytes(context, MessageKind::kPublicKey, bytes));
  PublicKey key;
  key.seed = message.seed;
  DTNN_ASSIGN_OR_RETURN(const std::vector<uint64_t> a, context.Expand(key.seed));
  key.a = Multiplier(context, a);
  key.b = Multiplier(context, message.polynomials[0]);
  return key;
}

}  // namespace dtnn::ckks
