// Any bytes as messages of a masked sum: what is read is written as the same bytes.

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "comm/secrets/masked/masked_parameters.h"

namespace {

constexpr dtnn::masked::MaskedParameters kParameters{.clients = 3};

template <typename Message>
void Try(const absl::StatusOr<Message>& message, std::span<const uint8_t> bytes) {
  if (message.ok() && !std::ranges::equal(ToBytes(*message), bytes)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  Try(dtnn::masked::AdvertisementFromBytes(kParameters, bytes), bytes);
  Try(dtnn::masked::SealedSharesFromBytes(kParameters, bytes), bytes);
  Try(dtnn::masked::RevealFromBytes(kParameters, bytes), bytes);
  Try(dtnn::masked::VoteFromBytes(kParameters, bytes), bytes);
  return 0;
}
