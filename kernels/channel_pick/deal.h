// What the implementations of ChannelPick share: one direction as a rule which channel goes where,
// and the check of its operands.

#ifndef DTNN_KERNELS_CHANNEL_PICK_DEAL_H_
#define DTNN_KERNELS_CHANNEL_PICK_DEAL_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "kernels/channel_pick/channel_pick.h"
#include "tensor/device.h"
#include "tensor/gpu/kernel.h"
#include "tensor/tensor.h"

namespace dtnn {

// Channel to + j is made of channel from + (j mod groups) * (count / groups) + j / groups.
struct ChannelDeal {
  int64_t from = 0, to = 0, count = 0, groups = 1;

  static ChannelDeal Forward(const ChannelPickSpec& spec) {
    return {.from = spec.begin, .to = 0, .count = spec.count, .groups = spec.groups};
  }
  // Cards that were dealt from a few groups, are dealt back from as many as each of them had.
  static ChannelDeal Backward(const ChannelPickSpec& spec) {
    return {.from = 0, .to = spec.begin, .count = spec.count, .groups = spec.count / spec.groups};
  }

  // -1: the channel is made of none.
  DTNN_HOST_DEVICE int64_t SourceOf(int64_t channel) const {
    const int64_t j = channel - to;
    if (j < 0 || j >= count) return -1;
    return from + j % groups * (count / groups) + j / groups;
  }
};

// What every implementation checks before a call.
absl::Status CheckPickedImages(const ChannelPickSpec& spec, Device device, std::string_view x_name,
                               const Tensor& x, std::string_view y_name, const Tensor& y);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CHANNEL_PICK_DEAL_H_
