#include "comm/federation/compression.h"

#include <algorithm>
#include <cmath>

#include "comm/ranks/gradients/top_k_threshold.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/secrets/sums/packed_codec.h"
#include "comm/wire/wire.h"
#include "tensor/errors.h"
#include "tensor/text/number.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::federation {
namespace {

constexpr double kMostFraction = 0.5;    // from two thirds on, places take what is saved
constexpr int64_t kPerThread = 1 << 14;  // numbers
constexpr std::string_view kTopKText = "top-k:";

codec::PackedOptions PackedOf(const Compression& compression, size_t chunk_values,
                              size_t trainable) {
  using enum codec::Packing;
  codec::PackedOptions options = {.chunk_values = chunk_values, .packed_values = trainable};
  switch (compression.kind) {
    case CompressionKind::kNone:
    case CompressionKind::kBfloat16:
      options.packing = kBfloat16;
      break;
    case CompressionKind::kFloat16:
      options.packing = kFloat16;
      break;
    case CompressionKind::kInt8:
      options.packing = kInt8;
      break;
    case CompressionKind::kTopK:
      options.packing = kSparse;
      break;
  }
  return options;
}

// Calls use(i) for those that top-k sends, ascending. It may change numbers up to i.
template <typename Use>
void ForSelected(double fraction, std::span<const float> numbers, const Use& use) {
  if (numbers.empty()) return;
  auto left = std::max<int64_t>(1, std::llround(fraction * double(numbers.size())));
  const uint32_t threshold = TopKThreshold(numbers, left);
  for (const float x : numbers) left -= Magnitude(x) > threshold ? 1 : 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const uint32_t magnitude = Magnitude(numbers[i]);
    if (magnitude > threshold || (magnitude == threshold && left-- > 0)) use(i);
  }
}

}  // namespace

absl::StatusOr<Compression> ParseCompression(std::string_view text) {
  Compression compression;
  if (text == "none") return compression;
  if (text == "bf16") return Compression{CompressionKind::kBfloat16};
  if (text == "fp16") return Compression{CompressionKind::kFloat16};
  if (text == "int8") return Compression{CompressionKind::kInt8};
  if (text.starts_with(kTopKText)) {
    compression = {.kind = CompressionKind::kTopK,
                   .fraction = NumberIn<double>(text.substr(kTopKText.size())).value_or(0)};
    if (IsValid(compression)) return compression;
  }
  return InvalidArgument(Quoted(text),
                         ": expected none, bf16, fp16, int8 or top-k:FRACTION, with a fraction "
                         "above 0, at most ",
                         kMostFraction);
}

bool IsValid(const Compression& compression) {
  if (compression.kind > CompressionKind::kTopK) return false;
  if (!compression.owes()) return compression.fraction == 0;
  return compression.fraction > 0 && compression.fraction <= kMostFraction;
}

absl::StatusOr<Philox> RoundingOf(uint64_t seed, std::string_view client, int64_t round) {
  WireWriter numbers;
  numbers.Number(seed);
  numbers.Number(uint64_t(round));
  DTNN_ASSIGN_OR_RETURN(const Hash hash, Sha256({AsBytes("DTNN federation: rounding"),
                                                 numbers.bytes(), AsBytes(client)}));
  return Philox(LoadLittleEndian<uint64_t>(hash.data()), 0);
}

absl::StatusOr<std::unique_ptr<codec::ClientCodec>> CompressedClient(const Compression& compression,
                                                                     size_t chunk_values,
                                                                     size_t trainable,
                                                                     const Philox& random) {
  return codec::PackedClient(PackedOf(compression, chunk_values, trainable), random);
}

absl::StatusOr<std::unique_ptr<codec::ServerCodec>> CompressedServer(const Compression& compression,
                                                                     size_t chunk_values,
                                                                     size_t trainable) {
  return codec::PackedServer(PackedOf(compression, chunk_values, trainable));
}

void Select(const Compression& compression, size_t trainable, std::span<float> difference) {
  if (!compression.owes()) return;
  const std::span<float> numbers = difference.first(trainable);
  size_t next = 0;
  ForSelected(compression.fraction, numbers, [&](size_t i) {
    std::fill(numbers.begin() + std::ptrdiff_t(next), numbers.begin() + std::ptrdiff_t(i), 0.0f);
    next = i + 1;
  });
  std::fill(numbers.begin() + std::ptrdiff_t(next), numbers.end(), 0.0f);
}

std::vector<float> Owed(const Compression& compression, size_t trainable,
                        std::vector<float> difference) {
  difference.resize(trainable);
  ForSelected(compression.fraction, difference, [&](size_t i) { difference[i] = 0; });
  return difference;
}

absl::StatusOr<std::vector<float>> SendAndRead(const Compression& compression, size_t chunk_values,
                                               size_t trainable, const Philox& random,
                                               std::vector<float> difference) {
  DTNN_ASSIGN_OR_RETURN(const auto client,
                        CompressedClient(compression, chunk_values, trainable, random));
  DTNN_ASSIGN_OR_RETURN(const auto server, CompressedServer(compression, chunk_values, trainable));
  Select(compression, trainable, difference);
  for (size_t at = 0; at < difference.size(); at += chunk_values) {
    const ChunkId id = {.chunk = uint32_t(at / chunk_values)};
    const std::span<float> chunk =
        std::span(difference).subspan(at, std::min(chunk_values, difference.size() - at));
    DTNN_ASSIGN_OR_RETURN(const codec::Bytes body, client->Encode(id, chunk));
    DTNN_ASSIGN_OR_RETURN(const auto sum, server->NewSum(id, chunk.size()));
    DTNN_RETURN_IF_ERROR(sum->Add(0, body));
    DTNN_RETURN_IF_ERROR(sum->Read(chunk));
  }
  return difference;
}

void AddBegin(std::span<const float> begin, size_t trainable, double factor,
              std::span<float> update) {
  ParallelFor(0, int64_t(update.size()), kPerThread, [&](int64_t first, int64_t end) {
    for (auto i = size_t(first); i < size_t(end); ++i) {
      const double number = i < trainable ? double(begin[i]) + double(update[i]) : update[i];
      update[i] = float(number * factor);
    }
  });
}

}  // namespace dtnn::federation
