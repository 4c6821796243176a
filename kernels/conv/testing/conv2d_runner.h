// Runs a Conv2d, of whichever kernel, for its tests.

#ifndef DTNN_KERNELS_CONV_TESTING_CONV2D_RUNNER_H_
#define DTNN_KERNELS_CONV_TESTING_CONV2D_RUNNER_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "kernels/conv/conv2d.h"
#include "tools/testing/fenced.h"

namespace dtnn::testing {

// The variant where it computes a direction, and elsewhere one that computes all.
inline Conv2dVariants WhereSupported(std::string_view variant, const Conv2dSpec& spec) {
  Conv2dVariants variants(variant);
  for (const conv::Direction direction : conv::kDirections) {
    if (!Conv2dRefusal(variant, spec, direction).empty()) variants[direction] = "gemm";
  }
  return variants;
}

inline bool ComputesAll(std::string_view variant, const Conv2dSpec& spec) {
  return std::ranges::all_of(conv::kDirections, [&](conv::Direction direction) {
    return Conv2dRefusal(variant, spec, direction).empty();
  });
}

// A primitive with workspace of its own, full of NaN before every call, and memory for what it
// keeps, full of NaN before the first; writing behind either fails.
class Conv2dRunner {
 public:
  using Create = absl::FunctionRef<absl::StatusOr<std::unique_ptr<Conv2d>>(DeviceContext&)>;

  explicit Conv2dRunner(Create create) {
    context_ = *DeviceContext::Create(Device::Cpu());
    auto conv = create(*context_);
    EXPECT_TRUE(conv.ok()) << conv.status();
    conv_ = *std::move(conv);
    workspace_.emplace(conv_->workspace_bytes());
    if (conv_->kept_bytes() == 0) return;
    kept_ = *Buffer::Allocate(Device::Cpu(), conv_->kept_bytes() + kMargin);
    std::fill_n(kept_->data(), kept_->size(), kFiller);
    Check(conv_->Keep(kept_));
  }
  ~Conv2dRunner() {
    if (kept_ == nullptr) return;
    EXPECT_EQ(
        std::count(kept_->data() + conv_->kept_bytes(), kept_->data() + kept_->size(), kFiller),
        kMargin)
        << "written behind what is kept of the filter";
  }

  Conv2dRunner(const Conv2dSpec& spec, Conv2dVariants variants,
               const Conv2dUse& use = {.keeps_filter = true})
      : Conv2dRunner(
            [&](DeviceContext& context) { return CreateConv2d(context, spec, variants, use); }) {}

  void Forward(const Tensor& x, const Tensor& w, const Tensor& y,
               const EpilogueOperands& operands = {}, uint64_t version = 0) {
    Check(conv_->Forward(x, {w, version}, y, operands, Dirty()));
  }
  void BackwardData(const Tensor& dy, const Tensor& w, const Tensor& dx, bool accumulate = false,
                    uint64_t version = 0) {
    Check(conv_->BackwardData(dy, {w, version}, dx, accumulate, Dirty()));
  }
  void BackwardFilter(const Tensor& x, const Tensor& dy, const Tensor& dw, const Tensor& dbias,
                      bool accumulate = false) {
    Check(conv_->BackwardFilter(x, dy, dw, dbias, accumulate, Dirty()));
  }
  Conv2d& conv() { return *conv_; }
  Workspace Dirty() { return workspace_->Dirty(); }

 private:
  static constexpr size_t kMargin = 256;
  static constexpr std::byte kFiller{0xff};

  static void Check(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }

  std::unique_ptr<DeviceContext> context_;
  std::unique_ptr<Conv2d> conv_;
  std::optional<FencedWorkspace> workspace_;
  std::shared_ptr<Buffer> kept_;
};

}  // namespace dtnn::testing

#endif  // DTNN_KERNELS_CONV_TESTING_CONV2D_RUNNER_H_
