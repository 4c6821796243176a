#include "comm/secrets/ckks/cipher.h"

#include <limits>

#include "comm/secrets/ckks/message.h"
#include "comm/secrets/ckks/samplers.h"
#include "comm/secrets/crypto/random_secret.h"
#include "tensor/errors.h"

namespace dtnn::ckks {
namespace {

// Adds an error to a plaintext's coefficients and transforms them.
void AddErrorAndTransform(const CkksContext& context, ChaCha20Stream& random,
                          std::span<uint64_t> plaintext) {
  WipedVector<int64_t> error(context.parameters().degree());
  SampleError(random, error);
  context.AddSmall(plaintext, error);
  context.Forward(plaintext);
}

absl::Status CountSummands(Ciphertext& sum, uint32_t more) {
  if (more > std::numeric_limits<uint32_t>::max() - sum.summands) {
    return InvalidArgument("cannot add ciphertexts: ", sum.summands, " and ", more,
                           " summands are too many to be true");
  }
  sum.summands += more;
  return absl::OkStatus();
}

absl::Status CheckSize(const CkksContext& context, const Ciphertext& x) {
  if (x.c0.size() == context.size() && x.c1.size() == context.size()) return absl::OkStatus();
  return InvalidArgument("ciphertext: has ", x.c0.size(), " and ", x.c1.size(),
                         " numbers, the parameters ask for ", context.size(), " each");
}

}  // namespace

template <typename T>
absl::StatusOr<SeededCiphertext> Encrypt(const CkksContext& context, const SecretKey& key,
                                         std::span<const T> values, double limit) {
  WipedVector<uint64_t> plaintext(context.size());
  DTNN_RETURN_IF_ERROR(context.encoder().Encode(values, limit, plaintext));
  SeededCiphertext result;
  DTNN_RETURN_IF_ERROR(FillRandom(result.seed));
  DTNN_ASSIGN_OR_RETURN(const std::vector<uint64_t> a, context.Expand(result.seed));
  DTNN_ASSIGN_OR_RETURN(ChaCha20Stream random, ChaCha20Stream::Random());
  AddErrorAndTransform(context, random, plaintext);
  result.c0.resize(context.size());
  context.ForEach([&](const Modulus& q, size_t i) {
    result.c0[i] = q.Subtract(plaintext[i], q.Multiply(a[i], key.s()[i]));
  });
  return result;
}

template <typename T>
absl::StatusOr<Ciphertext> Encrypt(const CkksContext& context, const PublicKey& key,
                                   std::span<const T> values, double limit) {
  WipedVector<uint64_t> plaintext(context.size());
  DTNN_RETURN_IF_ERROR(context.encoder().Encode(values, limit, plaintext));
  DTNN_ASSIGN_OR_RETURN(ChaCha20Stream random, ChaCha20Stream::Random());
  const WipedVector<uint64_t> u = TransformedTernary(context, random);
  AddErrorAndTransform(context, random, plaintext);
  const WipedVector<uint64_t> error = TransformedError(context, random);
  Ciphertext result{std::vector<uint64_t>(context.size()), std::vector<uint64_t>(context.size())};
  context.ForEach([&](const Modulus& q, size_t i) {
    result.c0[i] = q.Add(plaintext[i], q.Multiply(u[i], key.b[i]));
    result.c1[i] = q.Add(error[i], q.Multiply(u[i], key.a[i]));
  });
  return result;
}

absl::StatusOr<Ciphertext> Expand(const CkksContext& context, SeededCiphertext x) {
  Ciphertext result;
  DTNN_ASSIGN_OR_RETURN(result.c1, context.Expand(x.seed));
  result.c0 = std::move(x.c0);
  return result;
}

absl::Status Add(const CkksContext& context, Ciphertext& sum, const Ciphertext& x) {
  DTNN_RETURN_IF_ERROR(CheckSize(context, sum));
  DTNN_RETURN_IF_ERROR(CheckSize(context, x));
  DTNN_RETURN_IF_ERROR(CountSummands(sum, x.summands));
  context.AddTo(sum.c0, x.c0);
  context.AddTo(sum.c1, x.c1);
  return absl::OkStatus();
}

absl::Status Add(const CkksContext& context, Ciphertext& sum, const SeededCiphertext& x) {
  DTNN_ASSIGN_OR_RETURN(const Ciphertext expanded, Expand(context, x));
  return Add(context, sum, expanded);
}

template <typename T>
absl::Status AddPlain(const CkksContext& context, Ciphertext& sum, std::span<const T> values,
                      double limit) {
  DTNN_RETURN_IF_ERROR(CheckSize(context, sum));
  std::vector<uint64_t> plaintext(context.size());
  DTNN_RETURN_IF_ERROR(context.encoder().Encode(values, limit, plaintext));
  context.Forward(plaintext);
  context.AddTo(sum.c0, plaintext);
  return absl::OkStatus();
}

template <typename T>
absl::Status Decrypt(const CkksContext& context, const SecretKey& key, const Ciphertext& x,
                     std::span<T> values) {
  DTNN_RETURN_IF_ERROR(CheckSize(context, x));
  if (values.size() > context.parameters().values()) {
    return InvalidArgument("cannot decrypt ", values.size(), " numbers: a ciphertext holds ",
                           context.parameters().values());
  }
  WipedVector<uint64_t> plaintext(context.size());
  context.ForEach([&](const Modulus& q, size_t i) {
    plaintext[i] = q.Add(x.c0[i], q.Multiply(x.c1[i], key.s()[i]));
  });
  context.Inverse(plaintext);
  return context.encoder().Decode(std::span<const uint64_t>(plaintext), values);
}

std::vector<uint8_t> ToBytes(const CkksContext& context, const Ciphertext& x) {
  return MessageToBytes(context, MessageKind::kCiphertext, x.summands, {}, {x.c0, x.c1});
}

std::vector<uint8_t> ToBytes(const CkksContext& context, const SeededCiphertext& x) {
  return MessageToBytes(context, MessageKind::kSeededCiphertext, 1, x.seed, {x.c0});
}

absl::StatusOr<Ciphertext> CiphertextFromBytes(const CkksContext& context,
                                               std::span<const uint8_t> bytes) {
  DTNN_ASSIGN_OR_RETURN(Message message,
                        MessageFromBytes(context, MessageKind::kCiphertext, bytes));
  if (message.number == 0) return DataLoss("ciphertext: says that it is the sum of none");
  return Ciphertext{std::move(message.polynomials[0]), std::move(message.polynomials[1]),
                    message.number};
}

absl::StatusOr<SeededCiphertext> SeededCiphertextFromBytes(const CkksContext& context,
                                                           std::span<const uint8_t> bytes) {
  DTNN_ASSIGN_OR_RETURN(Message message,
                        MessageFromBytes(context, MessageKind::kSeededCiphertext, bytes));
  return SeededCiphertext{std::move(message.polynomials[0]), message.seed};
}

template absl::StatusOr<SeededCiphertext> Encrypt(const CkksContext&, const SecretKey&,
                                                  std::span<const float>, double);
template absl::StatusOr<SeededCiphertext> Encrypt(const CkksContext&, const SecretKey&,
                                                  std::span<const double>, double);
template absl::StatusOr<Ciphertext> Encrypt(const CkksContext&, const PublicKey&,
                                            std::span<const float>, double);
template absl::StatusOr<Ciphertext> Encrypt(const CkksContext&, const PublicKey&,
                                            std::span<const double>, double);
template absl::Status AddPlain(const CkksContext&, Ciphertext&, std::span<const float>, double);
template absl::Status AddPlain(const CkksContext&, Ciphertext&, std::span<const double>, double);
template absl::Status Decrypt(const CkksContext&, const SecretKey&, const Ciphertext&,
                              std::span<float>);
template absl::Status Decrypt(const CkksContext&, const SecretKey&, const Ciphertext&,
                              std::span<double>);

}  // namespace dtnn::ckks
