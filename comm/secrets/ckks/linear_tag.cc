#include "comm/secrets/ckks/linear_tag.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "comm/secrets/ckks/samplers.h"
#include "comm/secrets/crypto/chacha20_stream.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/wire/wire.h"
#include "tensor/errors.h"

namespace dtnn::ckks {
namespace {

constexpr size_t kHashes = 2;

// The position in tags of hash j modulo prime k.
size_t At(size_t prime, size_t hash) { return kHashes * prime + hash; }

}  // namespace

size_t LinearTagBytes(const CkksContext& context) { return 8 * kHashes * context.primes(); }

std::vector<uint8_t> ToBytes(const LinearTag& tag) {
  WireWriter writer;
  for (const uint64_t number : tag) writer.Number(number);
  return std::move(writer).Take();
}

absl::StatusOr<LinearTag> LinearTagFromBytes(const CkksContext& context,
                                             std::span<const uint8_t> bytes) {
  WireReader reader(bytes, "tag of a ciphertext");
  LinearTag tag(kHashes * context.primes());
  for (uint64_t& number : tag) number = reader.Number<uint64_t>();
  DTNN_RETURN_IF_ERROR(reader.Done());
  for (size_t k = 0; k < context.primes(); ++k) {
    for (size_t j = 0; j < kHashes; ++j) {
      if (tag[At(k, j)] >= context.prime(k).value()) {
        return DataLoss("tag of a ciphertext: a number is not below its prime");
      }
    }
  }
  return tag;
}

void AddTo(const CkksContext& context, LinearTag& sum, const LinearTag& tag) {
  for (size_t k = 0; k < context.primes(); ++k) {
    for (size_t j = 0; j < kHashes; ++j) {
      sum[At(k, j)] = context.prime(k).Add(sum[At(k, j)], tag[At(k, j)]);
    }
  }
}

absl::StatusOr<LinearTagger> LinearTagger::Create(const CkksContext& context,
                                                  const Secret& secret) {
  LinearTagger tagger(context, secret);
  DTNN_ASSIGN_OR_RETURN(const Secret seed, DeriveSecret(secret, "DTNN linear tag: hashes"));
  const size_t n = context.parameters().degree();
  tagger.a_.resize(kHashes * context.size());
  for (size_t j = 0; j < kHashes; ++j) {
    DTNN_ASSIGN_OR_RETURN(ChaCha20Stream stream, ChaCha20Stream::Create(seed.bytes(), j));
    for (size_t k = 0; k < context.primes(); ++k) {
      SampleUniform(stream, context.prime(k),
                    std::span(tagger.a_).subspan(j * context.size() + k * n, n));
    }
  }
  return tagger;
}

LinearTag LinearTagger::HashOf(std::span<const uint64_t> c1) const {
  const size_t n = context_->parameters().degree();
  LinearTag hash(kHashes * context_->primes());
  for (size_t j = 0; j < kHashes; ++j) {
    context_->ForEach([&](const Modulus& q, size_t i) {
      uint64_t& sum = hash[At(i / n, j)];
      sum = q.Add(sum, q.Multiply(c1[i], a_[j * context_->size() + i]));
    });
  }
  return hash;
}

absl::Status LinearTagger::AddPad(int client, uint32_t chunk, LinearTag& tag) const {
  WireWriter writer;
  writer.Number(uint32_t(client));
  DTNN_ASSIGN_OR_RETURN(const Secret seed,
                        DeriveSecret(secret_, "DTNN linear tag: pads", writer.bytes()));
  DTNN_ASSIGN_OR_RETURN(ChaCha20Stream stream, ChaCha20Stream::Create(seed.bytes(), chunk));
  LinearTag pad(tag.size());
  for (size_t k = 0; k < context_->primes(); ++k) {
    SampleUniform(stream, context_->prime(k), std::span(pad).subspan(At(k, 0), kHashes));
  }
  AddTo(*context_, tag, pad);
  return absl::OkStatus();
}

absl::StatusOr<LinearTag> LinearTagger::TagOf(std::span<const uint64_t> c1, int client,
                                              uint32_t chunk) const {
  LinearTag tag = HashOf(c1);
  DTNN_RETURN_IF_ERROR(AddPad(client, chunk, tag));
  return tag;
}

absl::Status LinearTagger::CheckSum(std::span<const uint64_t> c1, int clients, uint32_t chunk,
                                    const LinearTag& tag) const {
  LinearTag wanted = HashOf(c1);
  for (int client = 0; client < clients; ++client) {
    DTNN_RETURN_IF_ERROR(AddPad(client, chunk, wanted));
  }
  // Where they differ must not show in the time.
  uint64_t difference = wanted.size() ^ tag.size();
  for (size_t i = 0; i < std::min(wanted.size(), tag.size()); ++i) difference |= wanted[i] ^ tag[i];
  if (difference == 0) return absl::OkStatus();
  return absl::UnauthenticatedError(
      StrCat("asked to decrypt something else than the sum of all clients' chunks ", chunk));
}

}  // namespace dtnn::ckks
