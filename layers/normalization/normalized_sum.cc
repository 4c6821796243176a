#include "layers/normalization/normalized_sum.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "layers/normalization/batch_normalization.h"
#include "tensor/rounding.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class NormalizedSumOp : public LayerOp {
  using Norm = BatchNormalizationLayer;

 public:
  NormalizedSumOp(std::unique_ptr<NormPair> pair, const BatchNormSpec& spec)
      : pair_(std::move(pair)), spec_(spec) {}

  LayerOpTraits traits() const override {
    return {.backward_reads_input = true,
            .backward_reads_addend = true,
            .backward_reads_output = spec_.cuts_by_output() && !keeps_signs(),
            .backward_in_place = 0,
            .backward_over_output = spec_.cuts_by_output(),
            .backward_includes_fused = true,
            .changes_statistics = true,
            .state_shape = keeps_signs() ? Shape{pair_->signs_bytes()} : Shape(),
            .workspace_bytes = pair_->workspace_bytes(),
            .kept_bytes = 4 * VectorBytes()};
  }

  absl::Status Keep(std::shared_ptr<Buffer> memory) override {
    size_t offset = 0;
    for (BatchStatistics& each : statistics_) {
      for (Tensor* vector : {&each.mean, &each.variance}) {
        *vector = Tensor::View(memory, offset, DType::kFloat64, Shape{spec_.channels});
        offset += VectorBytes();
      }
    }
    return absl::OkStatus();
  }

  absl::Status Forward(const ForwardArgs& args) override {
    NormPairTerms terms = TermsOf(args.inputs, args.parameters);
    return pair_->Normalize(terms, {args.output, args.state}, args.workspace);
  }

  absl::Status Backward(const BackwardArgs& args) override {
    NormPairTerms terms = TermsOf(args.inputs, args.parameters);
    terms[kOther].dx = args.dx[1];
    terms[kOwn].dx = args.dx[0];
    for (const int term : {kOther, kOwn}) {
      const auto gradients = OfTerm(args.gradients, term);
      terms[size_t(term)].gradients = {.gamma = gradients[Norm::kGamma],
                                       .beta = gradients[Norm::kBeta]};
    }
    return pair_->Backward(terms, {args.output, args.state}, args.dy, args.workspace);
  }

 private:
  // The terms of the pair. Inputs, parameters and gradients come in the other order.
  static constexpr int kOther = 0, kOwn = 1;

  bool keeps_signs() const { return pair_->signs_bytes() > 0; }
  size_t VectorBytes() const {
    return RoundUp(size_t(spec_.channels) * sizeof(double), Buffer::kAlignment);
  }
  // Those of one layer, of both's.
  template <class Values>
  static Values OfTerm(Values both, int term) {
    const size_t half = both.size() / 2;
    return both.subspan(term == kOwn ? 0 : half, half);
  }
  NormPairTerms TermsOf(std::span<const Tensor> inputs,
                        std::span<const ParameterView> parameters) const {
    NormPairTerms terms;
    for (const int term : {kOther, kOwn}) {
      const auto own = OfTerm(parameters, term);
      terms[size_t(term)] = {.x = inputs[term == kOwn ? 0 : 1],
                             .statistics = statistics_[size_t(term)],
                             .parameters = Norm::LineOf(own),
                             .running = Norm::RunningOf(own)};
    }
    return terms;
  }

  std::unique_ptr<NormPair> pair_;
  BatchNormSpec spec_;
  std::array<BatchStatistics, 2> statistics_;  // of the last batch, between forward and backward
};

}  // namespace

absl::StatusOr<std::unique_ptr<LayerOp>> BindNormalizedSum(DeviceContext& context,
                                                           const NormPairSpec& spec) {
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<NormPair> pair, CreateNormPair(context, spec));
  return std::make_unique<NormalizedSumOp>(std::move(pair), spec[0]);
}

}  // namespace dtnn
