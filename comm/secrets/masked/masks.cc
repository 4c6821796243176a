#include "comm/secrets/masked/masks.h"

#include <algorithm>

#include "comm/secrets/crypto/chacha20_stream.h"
#include "comm/wire/wire.h"
#include "tensor/status_macros.h"

namespace dtnn::masked {

absl::StatusOr<Secret> PairSecret(const MaskedParameters& parameters, std::string_view purpose,
                                  int mine, const Secret& private_key, int theirs,
                                  const X25519PublicKey& public_key) {
  DTNN_ASSIGN_OR_RETURN(const Secret agreed, X25519Agree(private_key, public_key));
  WireWriter context;
  context.Number(parameters.round);
  context.Number(uint32_t(std::min(mine, theirs)));
  context.Number(uint32_t(std::max(mine, theirs)));
  return DeriveSecret(agreed, purpose, context.bytes());
}

absl::StatusOr<Hash> HashOfOwnMask(const MaskedParameters& parameters, int client,
                                   const Secret& seed) {
  WireWriter context;
  context.Number(parameters.round);
  context.Number(uint32_t(client));
  return Sha256({AsBytes("DTNN own mask"), context.bytes(), seed.bytes()});
}

namespace {

// A fixed number at a time, at places that do not overlap, is what compilers make SIMD of. Without
// dispatch at run time: the words are in the cache, and drawing them (chacha20_stream.h) takes most
// of the time (BM_AddMask, and BM_ChaCha20Stream of ../crypto).
template <typename Word>
void AddTo(Word* __restrict words, const Word* __restrict mask, Sign sign, size_t count) {
  constexpr size_t kTogether = 16;
  const Word flip = sign == Sign::kPlus ? Word{0} : ~Word{0};  // -x is ~x + 1
  size_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    for (size_t k = 0; k < kTogether; ++k) words[i + k] += (mask[i + k] ^ flip) - flip;
  }
  for (; i < count; ++i) words[i] += (mask[i] ^ flip) - flip;
}

}  // namespace

template <typename Word>
absl::Status AddMask(const Secret& seed, uint64_t chunk, Sign sign, std::span<Word> words) {
  DTNN_ASSIGN_OR_RETURN(ChaCha20Stream stream, ChaCha20Stream::Create(seed.bytes(), chunk));
  constexpr size_t kPiece = 4096;
  WipedVector<Word> mask(std::min(kPiece, words.size()));
  while (!words.empty()) {
    const size_t count = std::min(kPiece, words.size());
    stream.FillWords(std::span(mask).first(count));
    AddTo(words.data(), mask.data(), sign, count);
    words = words.subspan(count);
  }
  return absl::OkStatus();
}

template absl::Status AddMask(const Secret&, uint64_t, Sign, std::span<uint32_t>);
template absl::Status AddMask(const Secret&, uint64_t, Sign, std::span<uint64_t>);

}  // namespace dtnn::masked
