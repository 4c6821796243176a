#include "comm/secrets/ckks/threshold.h"

#include <cmath>

#include "comm/secrets/ckks/message.h"
#include "comm/secrets/ckks/noise.h"
#include "comm/secrets/ckks/samplers.h"
#include "comm/secrets/crypto/random_secret.h"
#include "tensor/errors.h"

namespace dtnn::ckks {
namespace {

constexpr int kMostClients = 1 << 16;
constexpr int64_t kMostDecryptions = int64_t{1} << 50;
constexpr double kMostFlooding = 0x1p56;  // what SampleGaussian draws
constexpr double kDeviations = 6;         // that the worst of many million numbers does not exceed

// The largest error of a mean, but for bad luck.
double MeanError(const CkksParameters& ckks, const ThresholdParameters& threshold) {
  return kDeviations * ThresholdDeviation(ckks, threshold) / threshold.clients;
}

absl::StatusOr<Hash> CommitmentTo(const Seed& seed, std::span<const uint8_t> share) {
  return Sha256({AsBytes("DTNN CKKS key share"), seed, share});
}

absl::StatusOr<Message> CheckedKeyShare(const CkksContext& context, const Seed& seed, int client,
                                        const Hash& commitment, std::span<const uint8_t> share) {
  DTNN_ASSIGN_OR_RETURN(const Hash hash, CommitmentTo(seed, share));
  if (hash != commitment) {
    return absl::UnauthenticatedError(
        StrCat("the key share of client ", client,
               " is not the one that it committed to: somebody tries to choose the joint key"));
  }
  DTNN_ASSIGN_OR_RETURN(
      Message message,
      WithContext(MessageFromBytes(context, MessageKind::kKeyShare, share), "client ", client));
  if (message.number != uint32_t(client)) {
    return DataLoss("the key share of client ", client, " says that it is client ", message.number,
                    "'s");
  }
  return message;
}

}  // namespace

double FloodingDeviation(const CkksParameters& ckks, const ThresholdParameters& threshold) {
  const double deviation =
      CoefficientDeviation(ckks, EncryptedWith::kPublicKey, threshold.clients, threshold.clients);
  const double length = deviation * std::sqrt(double(ckks.degree()));
  return std::sqrt(12.0 * double(threshold.decryptions)) *
         std::exp2(threshold.flooding_bits / 2.0) * length;
}

double ThresholdDeviation(const CkksParameters& ckks, const ThresholdParameters& threshold) {
  const double error =
      CoefficientDeviation(ckks, EncryptedWith::kPublicKey, threshold.clients, threshold.clients);
  const double flooding = FloodingDeviation(ckks, threshold);
  return ValueDeviation(ckks, std::sqrt(error * error + threshold.clients * flooding * flooding));
}

absl::Status ValidateThreshold(const CkksParameters& ckks, const ThresholdParameters& threshold) {
  DTNN_RETURN_IF_ERROR(Validate(ckks));
  if (threshold.clients < 2 || threshold.clients > kMostClients) {
    return InvalidArgument("threshold keys of ", threshold.clients, " clients: needs 2 to ",
                           kMostClients);
  }
  if (threshold.decryptions < 1 || threshold.decryptions > kMostDecryptions) {
    return InvalidArgument("threshold keys for ", threshold.decryptions,
                           " decryptions: needs 1 to 2^50");
  }
  if (threshold.flooding_bits < 10 || threshold.flooding_bits > 80) {
    return InvalidArgument("threshold keys with ", threshold.flooding_bits,
                           " bits of flooding: use 10 to 80, and at least 30 to be safe");
  }
  if (!(threshold.tolerance > 0 && threshold.tolerance <= 1)) {
    return InvalidArgument("threshold keys with a tolerated error of ", threshold.tolerance,
                           ": must be in (0, 1]");
  }
  if (FloodingDeviation(ckks, threshold) > kMostFlooding) {
    return InvalidArgument("threshold keys for ", threshold.decryptions, " decryptions with ",
                           threshold.flooding_bits,
                           " bits of flooding need noise beyond 2^56: use fewer of either");
  }
  const double error = MeanError(ckks, threshold);
  if (error <= threshold.tolerance) return absl::OkStatus();
  const int scale = ckks.log2_scale + int(std::ceil(std::log2(error / threshold.tolerance)));
  return InvalidArgument("threshold keys with scale 2^", ckks.log2_scale,
                         ": the noise that protects ", threshold.clients, " clients' keys in ",
                         threshold.decryptions, " decryptions makes means wrong by up to ", error,
                         ", more than the tolerated ", threshold.tolerance, ": use scale 2^", scale,
                         ", or new keys more often");
}

CkksParameters DefaultThresholdCkks() { return {.log2_scale = 61}; }

absl::StatusOr<ThresholdClient> ThresholdClient::Create(const CkksContext& context,
                                                        const ThresholdParameters& threshold,
                                                        int client, const Seed& seed) {
  DTNN_RETURN_IF_ERROR(ValidateThreshold(context.parameters(), threshold));
  if (client < 0 || client >= threshold.clients) {
    return InvalidArgument("threshold keys: there is no client ", client, " among ",
                           threshold.clients);
  }
  ThresholdClient result(context, threshold, client);
  DTNN_ASSIGN_OR_RETURN(const Secret secret, RandomSecret());
  DTNN_ASSIGN_OR_RETURN(result.key_, SecretKey::FromSeed(context, secret));
  DTNN_ASSIGN_OR_RETURN(const std::vector<uint64_t> a, context.Expand(seed));
  DTNN_ASSIGN_OR_RETURN(const std::vector<uint64_t> b, PublicHalf(context, result.key_, a));
  result.share_ = MessageToBytes(context, MessageKind::kKeyShare, uint32_t(client), {}, {b});
  DTNN_ASSIGN_OR_RETURN(result.commitment_, CommitmentTo(seed, result.share_));
  return result;
}

absl::StatusOr<std::vector<uint8_t>> ThresholdClient::Decrypt(const Ciphertext& sum, ChunkId of) {
  if (sum.c0.size() != context_->size() || sum.c1.size() != context_->size() ||
      sum.summands > uint32_t(threshold_.clients)) {
    return InvalidArgument("cannot decrypt chunk ", of.chunk, " of round ", of.round, ": a sum of ",
                           sum.summands, " ciphertexts with ", sum.c0.size(), " and ",
                           sum.c1.size(), " numbers, expected at most ", threshold_.clients,
                           " with ", context_->size());
  }
  if (of.round < round_ || (of.round == round_ && decrypted_.contains(of.chunk))) {
    return FailedPrecondition("client ", client_,
                              " decrypts each chunk once: was asked again for "
                              "chunk ",
                              of.chunk, " of round ", of.round, ", in round ", round_);
  }
  if (decryptions_ >= threshold_.decryptions) {
    return FailedPrecondition("client ", client_, " has decrypted ", decryptions_,
                              " ciphertexts, for which the noise was made: new keys are needed");
  }
  // Counted before, so that an error cannot be used to ask twice.
  if (of.round > round_) decrypted_.clear();
  round_ = of.round;
  decrypted_.insert(of.chunk);
  ++decryptions_;

  DTNN_ASSIGN_OR_RETURN(ChaCha20Stream random, ChaCha20Stream::Random());
  WipedVector<int64_t> flood(context_->parameters().degree());
  SampleGaussian(random, FloodingDeviation(context_->parameters(), threshold_), flood);
  WipedVector<uint64_t> noise(context_->size());
  context_->AddIntegers(noise, flood);
  context_->Forward(noise);
  std::vector<uint64_t> part(context_->size());
  context_->ForEach([&](const Modulus& q, size_t i) {
    part[i] = q.Add(noise[i], q.Multiply(sum.c1[i], key_.s()[i]));
  });
  return MessageToBytes(*context_, MessageKind::kPartialDecryption, uint32_t(client_), {}, {part});
}

absl::Status CheckKeyShare(const CkksContext& context, const Seed& seed, int client,
                           const Hash& commitment, std::span<const uint8_t> share) {
  return CheckedKeyShare(context, seed, client, commitment, share).status();
}

absl::StatusOr<PublicKey> JoinKeyShares(const CkksContext& context, const Seed& seed,
                                        std::span<const Hash> commitments,
                                        std::span<const std::vector<uint8_t>> shares) {
  if (shares.size() < 2 || shares.size() != commitments.size()) {
    return InvalidArgument("cannot join ", shares.size(), " key shares with ", commitments.size(),
                           " commitments: needs one of each per client, two at least");
  }
  std::vector<uint64_t> b(context.size());
  for (size_t client = 0; client < shares.size(); ++client) {
    DTNN_ASSIGN_OR_RETURN(
        const Message message,
        CheckedKeyShare(context, seed, int(client), commitments[client], shares[client]));
    context.AddTo(b, message.polynomials[0]);
  }
  PublicKey key;
  key.seed = seed;
  DTNN_ASSIGN_OR_RETURN(const std::vector<uint64_t> a, context.Expand(seed));
  key.a = Multiplier(context, a);
  key.b = Multiplier(context, b);
  return key;
}

template <typename T>
absl::Status CombineDecryptions(const CkksContext& context, const Ciphertext& sum, int clients,
                                std::span<const std::vector<uint8_t>> parts, std::span<T> values) {
  if (parts.size() != size_t(clients)) {
    return FailedPrecondition("cannot decrypt with the parts of ", parts.size(), " of ", clients,
                              " clients: threshold keys need all of them");
  }
  if (sum.c0.size() != context.size() || values.size() > context.parameters().values()) {
    return InvalidArgument("cannot decrypt ", values.size(), " numbers of a ciphertext with ",
                           sum.c0.size(), ", the parameters have ", context.size());
  }
  std::vector<uint64_t> plaintext = sum.c0;
  for (size_t client = 0; client < parts.size(); ++client) {
    DTNN_ASSIGN_OR_RETURN(
        const Message message,
        WithContext(MessageFromBytes(context, MessageKind::kPartialDecryption, parts[client]),
                    "client ", client));
    if (message.number != client) {
      return DataLoss("the part of client ", client, " says that it is client ", message.number,
                      "'s");
    }
    context.AddTo(plaintext, message.polynomials[0]);
  }
  context.Inverse(plaintext);
  return context.encoder().Decode(std::span<const uint64_t>(plaintext), values);
}

template absl::Status CombineDecryptions(const CkksContext&, const Ciphertext&, int,
                                         std::span<const std::vector<uint8_t>>, std::span<float>);
template absl::Status CombineDecryptions(const CkksContext&, const Ciphertext&, int,
                                         std::span<const std::vector<uint8_t>>, std::span<double>);

}  // namespace dtnn::ckks
