#include <utility>

#include "kernels/batch_norm/norm_gpu.h"
#include "kernels/batch_norm/norm_pair_bodies_gpu.h"
#include "kernels/batch_norm/norm_pair_gpu.h"

namespace dtnn {

class NormPairGpu : public NormPair, NormGpu {
 public:
  NormPairGpu(const GpuRunner& runner, const NormPairSpec& spec, Tensor lines, Tensor arrived)
      : NormGpu(runner, spec[0], std::move(arrived)), specs_(spec), lines_(std::move(lines)) {}

  int64_t signs_bytes() const override { return SignsBytes(); }

  absl::Status Normalize(const NormPairTerms& terms, const BatchNormOutput& out,
                         Workspace workspace) override {
    DTNN_RETURN_IF_ERROR(Check({&out.y, &terms[0].x, &terms[1].x}, workspace, workspace_bytes()));
    DTNN_RETURN_IF_ERROR(CheckSigns(out.y, out));
    for (const NormPairTerm& term : terms) {
      DTNN_RETURN_IF_ERROR(CheckInputs(term.statistics, term.parameters));
      DTNN_RETURN_IF_ERROR(CheckInputs(term.running, term.parameters));
    }
    if (out.y.num_elements() == 0) return NothingToMeasure();
    DTNN_RETURN_IF_ERROR(Measure(terms, SumsIn(workspace)));
    return out.signs.empty() ? Write<NormAddend::kAdd>(terms, out)
                             : Write<NormAddend::kAddSigns>(terms, out);
  }

  absl::Status Backward(const NormPairTerms& terms, const BatchNormOutput& out, const Tensor& dy,
                        Workspace workspace) override {
    const Tensor& cut_by = spec_.cuts_by_output() && out.signs.empty() ? out.y : dy;
    DTNN_RETURN_IF_ERROR(Check({&dy, &terms[0].x, &terms[1].x, &terms[0].dx, &terms[1].dx, &cut_by},
                               workspace, workspace_bytes()));
    DTNN_RETURN_IF_ERROR(CheckSigns(dy, out));
    for (const NormPairTerm& term : terms) {
      DTNN_RETURN_IF_ERROR(CheckInputs(term.statistics, term.parameters));
      DTNN_RETURN_IF_ERROR(
          CheckChannels(WideOf(spec_.dtype), {&term.gradients.gamma, &term.gradients.beta}));
    }
    const ChannelLayout layout = LayoutOf(dy);
    return WithCut(out, [&]<NormCut kCut>() {
      return WithVectors(
          {&dy, &terms[0].x, &terms[1].x, &terms[0].dx, &terms[1].dx, &cut_by},
          [&]<typename T, int kLanes>() -> absl::Status {
            using W = Wide<T>;
            const PairGradientInputs<T, kLanes, kCut> inputs = {
                {layout.ViewOf<const T, kLanes>(terms[0].x),
                 layout.ViewOf<const T, kLanes>(terms[1].x)},
                layout.ViewOf<const T, kLanes>(dy),
                CutterOf<T, kLanes, kCut>(cut_by, out.signs)};
            DTNN_RETURN_IF_ERROR(runner_.ReduceChannels(
                "normalisation gradients of two", layout.extents(),
                PairGradientsBody<T, kLanes, kCut>{
                    layout.planes(), {LineAt<W>(0), LineAt<W>(1)}, inputs},
                SumsIn(workspace), arrived_,
                PairGradientsFinish<W>{{GradientsFinish<W>(terms, 0, layout.positions()),
                                        GradientsFinish<W>(terms, 1, layout.positions())}}));
            return runner_.ForEachVector(
                "normalisation gradient of two", layout.extents(),
                PairDataBody<T, kLanes, kCut>{layout.planes(),
                                              {LineAt<W>(0), LineAt<W>(1)},
                                              inputs,
                                              {layout.ViewOf<T, kLanes>(terms[0].dx),
                                               layout.ViewOf<T, kLanes>(terms[1].dx)}});
          });
    });
  }

  size_t workspace_bytes() const override {
    ScratchDivider divider(nullptr, kGpuScratchAlignment);
    divider.Take<double>(MostDoubles(kMostSums));
    return divider.bytes();
  }

 private:
  static constexpr int kMostSums = 4;

  double* SumsIn(Workspace workspace) const {
    return ScratchDivider(workspace.data(), kGpuScratchAlignment)
        .Take<double>(MostDoubles(kMostSums));
  }
  std::byte* Line(int term) const { return lines_.raw_data() + size_t(term) * CoefficientBytes(); }
  template <typename W>
  ReadNormCoefficients<W> LineAt(int term) const {
    return CoefficientsAt<W>(Line(term));
  }
  template <typename W>
  NormLineMaker<W> LineMakerOf(const NormPairTerms& terms, int term, int64_t count) const {
    return LineMaker<W>(specs_[size_t(term)].epsilon, terms[size_t(term)].parameters, Line(term),
                        count);
  }
  template <typename W>
  NormGradientsFinish<W> GradientsFinish(const NormPairTerms& terms, int index,
                                         int64_t count) const {
    const NormPairTerm& term = terms[size_t(index)];
    return {specs_[size_t(index)].epsilon,           term.statistics.mean.data<double>(),
            term.statistics.variance.data<double>(), term.gradients.gamma.data<W>(),
            term.gradients.beta.data<W>(),           LineMakerOf<W>(terms, index, count)};
  }

  absl::Status Measure(const NormPairTerms& terms, double* sums) {
    const ChannelLayout layout = LayoutOf(terms[0].x);
    return WithVectors({&terms[0].x, &terms[1].x}, [&]<typename T, int kLanes>() {
      const auto body = [&](const NormPairTerm& term) {
        return MomentsBody<T, kLanes>{layout.planes(), layout.ViewOf<const T, kLanes>(term.x),
                                      layout.outer / 2, layout.inner / 2};
      };
      const PairMomentsBody<T, kLanes> both = {{body(terms[0]), body(terms[1])}};
      const auto finish = [&](int index) {
        const NormPairTerm& term = terms[size_t(index)];
        const MomentsBody<T, kLanes>& moments = both.of[index];
        return MomentsFinish<T>{double(layout.positions()),
                                moments.pivots(),
                                moments.pivot_step(),
                                term.statistics.mean.template data<double>(),
                                term.statistics.variance.template data<double>(),
                                TrackedIn<Wide<T>>(specs_[size_t(index)].momentum, term.running),
                                LineMakerOf<Wide<T>>(terms, index, 1)};
      };
      return runner_.ReduceChannels("batch statistics of two", layout.extents(), both, sums,
                                    arrived_, PairMomentsFinish<T>{{finish(0), finish(1)}});
    });
  }

  template <NormAddend kAddend>
  absl::Status Write(const NormPairTerms& terms, const BatchNormOutput& out) {
    const ChannelLayout layout = LayoutOf(out.y);
    return WithSigns<kAddend>(
        {&out.y, &terms[0].x, &terms[1].x}, out, [&]<typename T, int kLanes, NormAddend kHow>() {
          return runner_.ForEachVector(
              "normalisation of two", layout.extents(),
              PairApplyBody<T, kLanes, kHow>{
                  spec_.relu,
                  layout.planes(),
                  {LineAt<Wide<T>>(0), LineAt<Wide<T>>(1)},
                  {layout.ViewOf<const T, kLanes>(terms[0].x),
                   layout.ViewOf<const T, kLanes>(terms[1].x)},
                  layout.ViewOf<T, kLanes>(out.y),
                  SignsAt<T, uint8_t>(kHow == NormAddend::kAddSigns ? out.signs : Tensor())});
        });
  }

  NormPairSpec specs_;
  Tensor lines_;  // the coefficients of both, of the last Normalize, and of the Backward after it
};

absl::StatusOr<std::unique_ptr<NormPair>> CreateNormPairGpu(DeviceContext& context,
                                                            const NormPairSpec& spec) {
  DTNN_ASSIGN_OR_RETURN(Tensor lines, MakeNormCoefficients(context, spec[0], 2));
  const GpuRunner runner(context);
  DTNN_ASSIGN_OR_RETURN(Tensor arrived, runner.MakeArrived());
  return std::make_unique<NormPairGpu>(runner, spec, std::move(lines), std::move(arrived));
}

}  // namespace dtnn
