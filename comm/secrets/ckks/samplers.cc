#include "comm/secrets/ckks/samplers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "comm/secrets/crypto/wiped.h"

namespace dtnn::ckks {
namespace {

// Words that are asked for at a time.
constexpr size_t kWords = 1024;

}  // namespace

void SampleUniform(ChaCha20Stream& stream, const Modulus& q, std::span<uint64_t> residues) {
  const uint64_t mask = ~uint64_t{0} >> (64 - q.bits());
  size_t kept = 0;
  while (kept < residues.size()) {
    const std::span<uint64_t> rest = residues.subspan(kept);
    stream.FillWords(rest);
    for (const uint64_t word : rest) {
      residues[kept] = word & mask;
      kept += (word & mask) < q.value();
    }
  }
}

void SampleTernary(ChaCha20Stream& stream, std::span<int64_t> small) {
  WipedVector<uint8_t> bytes(kWords);
  size_t kept = 0;
  while (kept < small.size()) {
    const size_t count = std::min(bytes.size(), small.size() - kept);
    stream.Fill(std::span(bytes).first(count));
    for (size_t i = 0; i < count; ++i) {
      // x / 3 = floor(171 x / 512) for bytes; no division, whose time may depend on x.
      const int x = bytes[i], third = (171 * x) >> 9;
      small[kept] = x - 3 * third - 1;
      kept += x != 255;
    }
  }
}

void SampleError(ChaCha20Stream& stream, std::span<int64_t> small) {
  constexpr uint64_t kMask = (uint64_t{1} << kErrorPairs) - 1;
  WipedVector<uint64_t> words(std::min(kWords, small.size()));
  // Ones of 21 bits, within the word: the processor may have no instruction for it.
  const auto ones = [](uint64_t x) {
    x -= (x >> 1) & 0x5555555555555555;
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return int64_t((x * 0x0101010101010101) >> 56);
  };
  while (!small.empty()) {
    const size_t count = std::min(words.size(), small.size());
    stream.FillWords(std::span(words).first(count));
    for (size_t i = 0; i < count; ++i) {
      small[i] = ones(words[i] & kMask) - ones((words[i] >> 32) & kMask);
    }
    small = small.subspan(count);
  }
}

double GaussianRadius(uint64_t word) {
  // A number in (0, 1].
  const double u = std::ldexp(double(word) + 0.5, -64);
  return std::sqrt(-2 * std::log(std::min(u, 1.0)));
}

void SampleGaussian(ChaCha20Stream& stream, double deviation, std::span<int64_t> integers) {
  WipedVector<uint64_t> words(std::min(kWords, integers.size() + integers.size() % 2));
  const auto store = [&](double x, size_t i) {
    if (i < integers.size()) integers[i] = int64_t(std::llrint(deviation * x));
  };
  while (!integers.empty()) {
    const size_t count = std::min(words.size(), integers.size());
    const size_t pairs = (count + 1) / 2;
    stream.FillWords(std::span(words).first(2 * pairs));
    for (size_t i = 0; i < pairs; ++i) {
      // The fraction is in [0, 1).
      const double angle = 2 * std::numbers::pi * std::ldexp(double(words[2 * i + 1] >> 11), -53);
      const double radius = GaussianRadius(words[2 * i]);
      store(radius * std::cos(angle), 2 * i);
      store(radius * std::sin(angle), 2 * i + 1);
    }
    integers = integers.subspan(count);
  }
}

}  // namespace dtnn::ckks
