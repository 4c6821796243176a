#include "data/loading/fingerprint.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "data/images/image_bytes.h"
#include "data/loading/catch_exceptions.h"
#include "tensor/dtype.h"
#include "tensor/errors.h"
#include "tensor/rounding.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

constexpr int64_t kMaxValues = int64_t{1} << 26, kDecoded = 32, kGroups = 3;
constexpr int64_t kChunk = 64;  // samples that are read at once

// Each step is a bijection of the word, so no single change goes unseen.
uint64_t Mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 32);
}

uint64_t HashOf(const void* data, size_t bytes) {
  const char* from = static_cast<const char*>(data);
  uint64_t hash = bytes, word = 0;
  for (; bytes >= sizeof(word); bytes -= sizeof(word), from += sizeof(word)) {
    std::memcpy(&word, from, sizeof(word));
    hash = Mix(hash, word);
  }
  word = 0;
  std::memcpy(&word, from, bytes);
  return Mix(hash, word);
}

uint64_t HashOf(const Tensor& dense) {
  return HashOf(dense.raw_data(), size_t(dense.num_elements()) * SizeOf(dense.dtype()));
}

// The samples that are looked at, the first and the last among them.
std::vector<int64_t> Chosen(const Dataset& dataset, Split split) {
  const int64_t size = dataset.size(split);
  const int64_t values = std::max<int64_t>(1, ByteCount(dataset.sample()));
  const int64_t most = !dataset.groups(split).begins.empty() ? kGroups
                       : dataset.decodes()                   ? kDecoded
                                                             : kMaxValues / values;
  const int64_t count = std::min(size, std::max<int64_t>(most, 2));
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < count; ++i) {
    indices.push_back(count == 1 ? 0 : int64_t(__int128{i} * (size - 1) / (count - 1)));
  }
  return indices;
}

absl::StatusOr<uint64_t> HashOf(const Dataset& dataset, Split split,
                                std::span<const int64_t> indices) {
  const int64_t count = int64_t(indices.size());
  const Shape shape = SampleShape(dataset.sample(), TensorFormat::kNHWC).Prepend(count);
  DTNN_ASSIGN_OR_RETURN(const Tensor x, Tensor::Allocate(Device::Cpu(), DType::kFloat32, shape));
  DTNN_ASSIGN_OR_RETURN(const Tensor targets,
                        Tensor::Allocate(Device::Cpu(), TargetDType(dataset, DType::kFloat32),
                                         TargetShape(dataset, count)));
  DTNN_RETURN_IF_ERROR(dataset.Read(split, indices, TensorFormat::kNHWC, x, targets));
  return Mix(HashOf(x), HashOf(targets));
}

absl::StatusOr<uint64_t> Contents(const Dataset& dataset, Split split) {
  const std::vector<int64_t> indices = Chosen(dataset, split);
  const int64_t chunks = CeilDiv(int64_t(indices.size()), kChunk);
  std::vector<absl::StatusOr<uint64_t>> hashes(size_t(chunks), uint64_t{0});
  ParallelFor(0, chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const std::span<const int64_t> rest = std::span(indices).subspan(size_t(i * kChunk));
      hashes[size_t(i)] = CatchExceptions([&] {
        return HashOf(dataset, split, rest.first(std::min(rest.size(), size_t(kChunk))));
      });
    }
  });
  uint64_t hash = 0;
  for (const absl::StatusOr<uint64_t>& chunk : hashes) {
    if (!chunk.ok()) return chunk.status();
    hash = Mix(hash, *chunk);
  }
  if (!dataset.names_number_classes()) return hash;
  for (const std::string& name : dataset.class_names()) {
    hash = Mix(hash, HashOf(name.data(), name.size()));
  }
  return hash;
}

std::string Text(std::string_view text) { return std::string(text); }
std::string Text(int64_t number) { return StrCat(number); }
std::string Text(uint64_t hash) { return StrCat(absl::Hex(hash, absl::kZeroPad16)); }
std::string Text(TargetKind kind) { return std::string(Name(kind)); }
std::string Text(const ImageExtents& sample) { return ToString(sample); }

}  // namespace

absl::StatusOr<DataFingerprint> Fingerprint(const Dataset& dataset, Split split) {
  DTNN_ASSIGN_OR_RETURN(const uint64_t contents, Contents(dataset, split));
  return DataFingerprint{.dataset = std::string(dataset.name()),
                         .sample = dataset.sample(),
                         .outputs = dataset.outputs(),
                         .targets = dataset.target_kind(),
                         .samples = dataset.size(split),
                         .contents = contents};
}

std::optional<Difference> FirstDifference(const DataFingerprint& was, const DataFingerprint& now) {
  std::optional<Difference> difference;
  const auto compare = [&](const char* what, const auto& a, const auto& b) {
    if (!difference && a != b) difference = {what, Text(a), Text(b)};
  };
  compare("data set", was.dataset, now.dataset);
  compare("size of a sample", was.sample, now.sample);
  compare("kind of targets", was.targets, now.targets);
  compare("number of outputs", was.outputs, now.outputs);
  compare("number of samples", was.samples, now.samples);
  compare("checksum of the samples", was.contents, now.contents);
  return difference;
}

}  // namespace dtnn
