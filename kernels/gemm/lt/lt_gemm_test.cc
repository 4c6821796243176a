// Products with a bias, or with sums of columns, through cuBLASLt where there is a GPU of NVIDIA's,
// and through the library of simulated GPUs. That they equal the reference: gemm_gpu_test.

#include "kernels/gemm/lt/lt_gemm.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/device/captured_work.h"
#include "kernels/gemm/lt/simulated_lt.h"
#include "kernels/gpu/runner.h"
#include "kernels/testing/gpu_testing.h"
#include "tensor/buffer.h"
#include "tensor/gpu/simulated/simulated_driver.h"
#include "tensor/text/str_cat.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using ::testing::HasSubstr;
using testing::Put;
using testing::RandomTensor;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;

constexpr int64_t kM = 5, kN = 7, kK = 40;

class LtGemmTest : public ::testing::Test {
 protected:
  void SetUp() override { Start(Device::Simulated(0)); }
  void Start(Device device) {
    DTNN_GPU_OR_SKIP_AT(gpu, device);
    gpu_ = std::move(gpu);
  }
  bool simulated() const { return gpu_->device().type == DeviceType::kSimulated; }
  static GemmSpec Spec(DType dtype) {
    return {.m = kM, .n = kN, .k = kK, .dtype = dtype, .epilogue = {.bias = true}};
  }
  // The gradient of weights, kM x kN, and of a bias.
  static GemmSpec Gradient(DType dtype) {
    return {.m = kM,
            .n = kN,
            .k = kK,
            .transpose_a = true,
            .dtype = dtype,
            .wide_result = true,
            .column_sums = true};
  }
  Workspace Memory(size_t bytes) {
    memory_.push_back(*Buffer::Allocate(gpu_->device(), bytes + 1));
    return {memory_.back()->data(), bytes};
  }
  std::vector<double> Product(const GemmSpec& spec, const Tensor& a, const Tensor& b,
                              const Tensor& bias) {
    const auto gemm = *CreateGemm(*gpu_, spec);
    const Tensor c = Put(*gpu_, ZeroTensor(spec.result_dtype(), {spec.m, spec.n}));
    EXPECT_EQ(gemm->Run(Put(*gpu_, a), Put(*gpu_, b), c, {Put(*gpu_, bias)},
                        Memory(gemm->workspace_bytes())),
              absl::OkStatus());
    return Values(Get(*gpu_, c));
  }

  std::unique_ptr<DeviceContext> gpu_;
  std::vector<std::shared_ptr<Buffer>> memory_;
};

// On both. Where a choice of cuBLASLt's may differ from the simulated library's, it is not looked
// at.
class LtDeviceTest : public LtGemmTest, public ::testing::WithParamInterface<Device> {
 protected:
  void SetUp() override { Start(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(All, LtDeviceTest,
                         ::testing::Values(Device::Simulated(0), Device::Cuda(0)));

TEST_F(LtGemmTest, ComputesWhereOnlyABiasIsAddedOrOnlyColumnsAreSummed) {
  GemmSpec spec = Spec(DType::kFloat32);
  EXPECT_EQ((*CreateGemm(*gpu_, spec))->variant(), "simulated_lt");
  spec.column_sums = true;
  EXPECT_EQ((*CreateGemm(*gpu_, spec))->variant(), "plain");
  spec.epilogue = {};
  EXPECT_EQ((*CreateGemm(*gpu_, spec))->variant(), "simulated_lt");
  spec.dtype = DType::kFloat16;
  EXPECT_EQ((*CreateGemm(*gpu_, spec))->variant(), "plain");
  EXPECT_THAT(CreateGemm(*gpu_, spec, "simulated_lt").status().message(), HasSubstr("not 16 bits"));
  spec = Spec(DType::kFloat32);
  for (const Epilogue& epilogue : {Epilogue{},
                                   {.bias = true, .relu = true},
                                   {.bias = true, .scale = true},
                                   {.bias = true, .add = true}}) {
    spec.epilogue = epilogue;
    EXPECT_EQ((*CreateGemm(*gpu_, spec))->variant(), "plain") << spec.ToString();
    EXPECT_THAT(CreateGemm(*gpu_, spec, "simulated_lt").status().message(),
                HasSubstr("a bias is added"));
  }
}

TEST_P(LtDeviceTest, SixteenBitsAreRoundedOnce) {
  for (const DType half : {DType::kFloat16, DType::kBfloat16}) {
    const auto rounded = [&](const Shape& shape, uint64_t seed) {
      return TensorOf(half, shape, Values(RandomTensor(DType::kFloat32, shape, seed)));
    };
    const auto wide = [](const Tensor& x) {
      return TensorOf(DType::kFloat32, x.shape(), Values(x));
    };
    const Tensor a = rounded({kM, kK}, 1), b = rounded({kK, kN}, 2), bias = rounded({kN}, 3);
    const std::vector<double> exact = Product(Spec(DType::kFloat32), wide(a), wide(b), wide(bias));
    // A bias that is not rounded yet.
    const Tensor given = RandomTensor(DType::kFloat32, {kN}, 3);
    GemmSpec into_float = Spec(half);
    into_float.wide_result = true;
    const std::vector<double> narrow = Product(Spec(half), a, b, given),
                              wide_result = Product(into_float, a, b, wide(bias));
    if (simulated()) {
      EXPECT_EQ(narrow, Values(TensorOf(half, {kM, kN}, exact)));
      EXPECT_EQ(wide_result, exact);
      continue;
    }
    // Sums of other orders, and a bias that is rounded.
    const double unit = half == DType::kFloat16 ? 0x1p-11 : 0x1p-8;
    EXPECT_TRUE(testing::Close(narrow, exact, unit + kK * 0x1p-23, unit * 1.01));
    EXPECT_TRUE(testing::Close(wide_result, exact, kK * 0x1p-22, 0x1p-22));
  }
}

constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16};

// Small integers, whose sums are exact in every type and order.
class LtGradientTest : public LtDeviceTest {
 protected:
  // For `batch` samples, both gradients by the GPU's and by the CPU's primitive of this spec.
  void ExpectTheCpus(const GemmSpec& spec, Gemm& gemm, int64_t batch) {
    const auto cpu = *DeviceContext::Create(Device::Cpu());
    GemmSpec exact = spec;
    exact.dtype = WideOf(spec.dtype), exact.tf32 = false;
    const Tensor x = testing::IntegerTensor(exact.dtype, {batch, spec.m}, 1),
                 dy = testing::IntegerTensor(exact.dtype, {batch, spec.n}, 2);
    // What must not stay.
    const Tensor dw = testing::OnesTensor(exact.dtype, {spec.m, spec.n}),
                 db = testing::OnesTensor(exact.dtype, {spec.n});
    const Tensor gpu_dw = Put(*gpu_, dw), gpu_db = Put(*gpu_, db);
    const auto expected = *CreateGemm(*cpu, exact);
    const auto memory = *Buffer::Allocate(Device::Cpu(), expected->workspace_bytes() + 1);
    ASSERT_EQ(expected->Run(x, dy, dw, {.column_sums = db}, {memory->data(), memory->size()}),
              absl::OkStatus());
    const auto narrow = [&](const Tensor& tensor) {
      return Put(*gpu_, TensorOf(spec.dtype, tensor.shape(), Values(tensor)));
    };
    ASSERT_EQ(gemm.Run(narrow(x), narrow(dy), gpu_dw, {.column_sums = gpu_db},
                       Memory(gemm.workspace_bytes())),
              absl::OkStatus());
    EXPECT_EQ(Values(Get(*gpu_, gpu_dw)), Values(dw));
    EXPECT_EQ(Values(Get(*gpu_, gpu_db)), Values(db));
  }
};

INSTANTIATE_TEST_SUITE_P(All, LtGradientTest,
                         ::testing::Values(Device::Simulated(0), Device::Cuda(0)));

TEST_P(LtGradientTest, WeightsAndBiasEqualTheCpus) {
  for (const DType dtype : kTypes) {
    for (const bool tf32 : {false, true}) {
      if (tf32 && dtype != DType::kFloat32) continue;
      for (const auto& [m, n, k] : {std::tuple(1, 1, 1), std::tuple(1, 9, 5), std::tuple(33, 1, 7),
                                    std::tuple(5, 7, 1), std::tuple(17, 35, 129)}) {
        GemmSpec spec = Gradient(dtype);
        spec.m = m, spec.n = n, spec.k = k, spec.tf32 = tf32;
        const auto gemm = *CreateGemm(*gpu_, spec);
        if (simulated()) {
          ASSERT_EQ(gemm->variant(), "simulated_lt") << spec.ToString();
        }
        // The last, smaller batch, and none at all.
        for (const int batch : {k, (k + 1) / 2, 0}) {
          SCOPED_TRACE(StrCat(spec.ToString(), " of ", batch));
          ExpectTheCpus(spec, *gemm, batch);
        }
      }
    }
  }
}

TEST_F(LtGemmTest, BothGradientsAreOneLaunch) {
  const GemmSpec spec = Gradient(DType::kFloat16);
  const Tensor x = Put(*gpu_, ZeroTensor(spec.dtype, {kK, kM}));
  const Tensor dy = Put(*gpu_, ZeroTensor(spec.dtype, {kK, kN}));
  const Tensor dw = Put(*gpu_, ZeroTensor(DType::kFloat32, {kM, kN}));
  const Tensor db = Put(*gpu_, ZeroTensor(DType::kFloat32, {kN}));
  const auto launches = [&](std::string_view variant) {
    const auto gemm = *CreateGemm(*gpu_, spec, variant);
    const Workspace workspace = Memory(gemm->workspace_bytes());
    const gpu::Gpu& gpu = GpuRunner(*gpu_).context().stream().gpu();
    const int64_t before = gpu::CallsOf(gpu).launches;
    EXPECT_EQ(gemm->Run(x, dy, dw, {.column_sums = db}, workspace), absl::OkStatus());
    return gpu::CallsOf(gpu).launches - before;
  };
  EXPECT_EQ(launches("simulated_lt"), 1);
  EXPECT_EQ(launches("plain"), 2);
}

TEST_P(LtDeviceTest, ANaNComesOutOfTheSums) {
  const GemmSpec spec = Gradient(DType::kFloat32);
  const Tensor x = RandomTensor(spec.dtype, {kK, kM}, 1),
               dy = RandomTensor(spec.dtype, {kK, kN}, 2);
  dy.data<float>()[3 * kN + 2] = std::numeric_limits<float>::quiet_NaN();
  const Tensor dw = Put(*gpu_, ZeroTensor(spec.dtype, {kM, kN}));
  const Tensor db = Put(*gpu_, ZeroTensor(spec.dtype, {kN}));
  const auto gemm = *CreateGemm(*gpu_, spec);
  ASSERT_EQ(gemm->Run(Put(*gpu_, x), Put(*gpu_, dy), dw, {.column_sums = db},
                      Memory(gemm->workspace_bytes())),
            absl::OkStatus());
  const std::vector<double> sums = Values(Get(*gpu_, db));
  for (size_t j = 0; j < sums.size(); ++j) EXPECT_EQ(std::isnan(sums[j]), j == 2) << j;
}

TEST_P(LtDeviceTest, ACapturedCallHasTheBitsOfTheCall) {
  for (const DType dtype : kTypes) {
    for (GemmSpec spec : {Spec(dtype), Gradient(dtype)}) {
      SCOPED_TRACE(spec.ToString());
      const auto gemm = *CreateGemm(*gpu_, spec);
      if (simulated()) {
        ASSERT_EQ(gemm->variant(), "simulated_lt");
      }
      const DType wide = WideOf(dtype);
      const auto random = [&](DType type, const Shape& shape, uint64_t seed) {
        return Put(*gpu_, TensorOf(type, shape, Values(RandomTensor(wide, shape, seed))));
      };
      const Tensor a = random(dtype, spec.transpose_a ? Shape{kK, kM} : Shape{kM, kK}, 1);
      const Tensor b = random(dtype, {kK, kN}, 2), vector = random(wide, {kN}, 3);
      const Tensor c = random(spec.result_dtype(), {kM, kN}, 4);
      const Workspace workspace = Memory(gemm->workspace_bytes());
      const auto run = [&] {
        return gemm->Run(a, b, c,
                         spec.column_sums ? EpilogueOperands{.column_sums = vector}
                                          : EpilogueOperands{.bias = vector},
                         workspace);
      };
      ASSERT_EQ(run(), absl::OkStatus());
      const std::vector<double> product = Values(Get(*gpu_, c)), sums = Values(Get(*gpu_, vector));
      const auto captured = CapturedWork::Capture(*gpu_, run);
      ASSERT_EQ(captured.status(), absl::OkStatus());
      ASSERT_EQ(gpu_->Copy(ZeroTensor(c.dtype(), c.shape()), c), absl::OkStatus());
      if (spec.column_sums) {
        ASSERT_EQ(gpu_->Copy(ZeroTensor(wide, {kN}), vector), absl::OkStatus());
      }
      for (int replay = 0; replay < 2; ++replay) {
        ASSERT_EQ((*captured)->Replay(), absl::OkStatus());
        EXPECT_EQ(Values(Get(*gpu_, c)), product);
        EXPECT_EQ(Values(Get(*gpu_, vector)), sums);
      }
    }
  }
}

// An algorithm of their own, since that of aligned operands could read 16 bytes at once.
TEST_P(LtDeviceTest, OperandsThatAreLessAligned) {
  const GemmSpec spec = Spec(DType::kFloat32);
  const auto gemm = *CreateGemm(*gpu_, spec);
  const Tensor wide = RandomTensor(spec.dtype, {kM, kK + 1}, 1);
  const Tensor b = RandomTensor(spec.dtype, {kK, kN}, 2), bias = RandomTensor(spec.dtype, {kN}, 3);
  const auto shifted = [](const Tensor& x) { return x.Channels(1, kK, TensorFormat::kNHWC); };
  const Tensor c = Put(*gpu_, ZeroTensor(spec.dtype, {kM, kN}));
  ASSERT_EQ(gemm->Run(shifted(Put(*gpu_, wide)), Put(*gpu_, b), c, {Put(*gpu_, bias)},
                      Memory(gemm->workspace_bytes())),
            absl::OkStatus());
  const std::vector<double> expected =
      Product(spec, TensorOf(spec.dtype, {kM, kK}, Values(shifted(wide))), b, bias);
  // Another algorithm may sum in another order.
  EXPECT_TRUE(testing::Close(Values(Get(*gpu_, c)), expected, simulated() ? 0 : kK * 0x1p-22, 0));
}

// Counts what it is asked, and has no algorithm at all where it `refuses`.
class CountingLt final : public LtLibrary {
 public:
  CountingLt(std::unique_ptr<LtLibrary> library, int* asked, bool refuses = false)
      : library_(std::move(library)), asked_(asked), refuses_(refuses) {}
  absl::StatusOr<LtPlan> Choose(const LtProblem& problem, size_t most_workspace) override {
    ++*asked_;
    if (refuses_) return absl::UnimplementedError("no algorithm");
    return library_->Choose(problem, most_workspace);
  }
  absl::Status Multiply(const LtProblem& problem, const LtPlan& plan,
                        const LtOperands& operands) override {
    return library_->Multiply(problem, plan, operands);
  }

 private:
  std::unique_ptr<LtLibrary> library_;
  int* asked_;
  bool refuses_;
};

class LtPlansTest : public LtGemmTest {
 protected:
  absl::StatusOr<std::unique_ptr<Gemm>> Make(const GemmSpec& spec, bool refuses = false) {
    return MakeLtGemm(*gpu_, spec, "counted",
                      std::make_unique<CountingLt>(MakeSimulatedLt(*gpu_), &asked_, refuses),
                      *CreateGemm(*gpu_, spec, "plain"));
  }

  int asked_ = 0;
};

TEST_F(LtPlansTest, WithoutAnAlgorithmAnotherVariantIsAsked) {
  for (const GemmSpec& spec : {Spec(DType::kFloat32), Gradient(DType::kFloat64)}) {
    EXPECT_EQ(Make(spec, /*refuses=*/true).status().code(), absl::StatusCode::kUnimplemented);
  }
}

// Elements have 16 bits, so that the second one is not at a multiple of 4 bytes.
TEST_F(LtPlansTest, AnotherVariantComputesWhatTheLibraryCannot) {
  const GemmSpec spec = Spec(DType::kFloat16);
  const auto gemm = *Make(spec);
  const Tensor wide = testing::IntegerTensor(spec.dtype, {kM, kK + 1}, 1, 2);
  const Tensor a = wide.Channels(1, kK, TensorFormat::kNHWC);
  const Tensor b = testing::IntegerTensor(spec.dtype, {kK, kN}, 2, 2);
  const Tensor bias = testing::IntegerTensor(DType::kFloat32, {kN}, 3, 2);
  const std::vector<double> expected =
      Product(spec, TensorOf(spec.dtype, {kM, kK}, Values(a)), b, bias);
  const Tensor device_a = Put(*gpu_, wide).Channels(1, kK, TensorFormat::kNHWC);
  ASSERT_EQ(asked_, 1);
  for (int run = 0; run < 2; ++run) {
    const Tensor c = Put(*gpu_, ZeroTensor(spec.dtype, {kM, kN}));
    ASSERT_EQ(
        gemm->Run(device_a, Put(*gpu_, b), c, {Put(*gpu_, bias)}, Memory(gemm->workspace_bytes())),
        absl::OkStatus());
    EXPECT_EQ(Values(Get(*gpu_, c)), expected);
    // The answer is remembered.
    EXPECT_EQ(asked_, 2);
  }
}

TEST_F(LtPlansTest, ManySizesTakeThePlacesOfEachOtherButNotOfTheFirst) {
  GemmSpec spec = Spec(DType::kFloat32);
  spec.m = 150, spec.k = 2;
  const auto gemm = *Make(spec);
  const Tensor b = Put(*gpu_, ZeroTensor(spec.dtype, {spec.k, kN}));
  const Tensor bias = Put(*gpu_, ZeroTensor(spec.dtype, {kN}));
  const auto multiply = [&](int64_t m) {
    const Tensor a = Put(*gpu_, ZeroTensor(spec.dtype, {m, spec.k}));
    const Tensor c = Put(*gpu_, ZeroTensor(spec.dtype, {m, kN}));
    EXPECT_EQ(gemm->Run(a, b, c, {bias}, Memory(gemm->workspace_bytes())), absl::OkStatus());
  };
  EXPECT_EQ(asked_, 1);
  for (int64_t m = 1; m < spec.m; ++m) multiply(m);
  EXPECT_EQ(asked_, spec.m);
  multiply(spec.m - 1);
  multiply(spec.m);
  EXPECT_EQ(asked_, spec.m);
  multiply(1);
  EXPECT_EQ(asked_, spec.m + 1);
}

TEST_F(LtGemmTest, NeedsItsWorkspace) {
  const GemmSpec spec = Spec(DType::kFloat32);
  const auto gemm = *CreateGemm(*gpu_, spec);
  ASSERT_GT(gemm->workspace_bytes(), 0);
  const Tensor a = Put(*gpu_, ZeroTensor(spec.dtype, {kM, kK}));
  const Tensor b = Put(*gpu_, ZeroTensor(spec.dtype, {kK, kN}));
  const Tensor c = Put(*gpu_, ZeroTensor(spec.dtype, {kM, kN}));
  const Tensor bias = Put(*gpu_, ZeroTensor(spec.dtype, {kN}));
  const absl::Status status = gemm->Run(a, b, c, {bias}, Memory(gemm->workspace_bytes() - 1));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the workspace has"));
}

// What would be undefined on a GPU, or an error there.
class SimulatedLtTest : public LtGemmTest {
 protected:
  static LtProblem Problem() {
    return {.m = kN, .n = kM, .k = kK, .lda = kN, .ldb = kK, .ldd = kN};
  }
  LtOperands Operands() {
    const Workspace workspace = Memory(4096);
    return {.a = Memory(4 * kN * kK).data(),
            .b = Memory(4 * kK * kM).data(),
            .vector = Memory(4 * kN).data(),
            .d = Memory(4 * kN * kM).data(),
            .workspace = workspace.data(),
            .workspace_bytes = workspace.size()};
  }
  void ExpectInvalid(const absl::Status& status, const std::string& reason) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(reason));
  }

  void SetUp() override {
    LtGemmTest::SetUp();
    if (gpu_ != nullptr) library_ = MakeSimulatedLt(*gpu_);
  }

  std::unique_ptr<LtLibrary> library_;
};

TEST_F(SimulatedLtTest, RefusesProblemsThatAreNone) {
  const auto expect = [&](auto change, const std::string& reason) {
    LtProblem problem = Problem();
    change(problem);
    ExpectInvalid(library_->Choose(problem, 1 << 20).status(), reason);
  };
  EXPECT_TRUE(library_->Choose(Problem(), 1 << 20).ok());
  expect([](LtProblem& p) { p.k = 0; }, "not positive");
  expect([](LtProblem& p) { p.lda = kN - 1; }, "overlap");
  expect([](LtProblem& p) { p.transpose_b = true, p.ldb = kM - 1; }, "overlap");
  expect([](LtProblem& p) { p.ldd = kN - 1; }, "overlap");
  expect([](LtProblem& p) { p.alignment = 2; }, "alignment");
  expect([](LtProblem& p) { p.alignment = 12; }, "alignment");
  expect([](LtProblem& p) { p.dtype = p.result_dtype = DType::kFloat64, p.tf32 = true; }, "TF32");
  expect([](LtProblem& p) { p.result_dtype = DType::kFloat16; }, "types");
}

TEST_F(SimulatedLtTest, SumsNoTransposedA) {
  LtProblem problem = Problem();
  problem.epilogue = LtEpilogue::kRowSumsOfA;
  EXPECT_TRUE(library_->Choose(problem, 1 << 20).ok());
  problem.transpose_a = true, problem.lda = kK;
  const absl::Status status = library_->Choose(problem, 1 << 20).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("NOT_SUPPORTED"));
}

TEST_F(SimulatedLtTest, RefusesCallsThatDoNotFitTheAlgorithm) {
  const LtPlan plan = *library_->Choose(Problem(), 1 << 20);
  ASSERT_GT(plan.workspace_bytes, 0);
  const auto expect = [&](auto change, const std::string& reason) {
    LtProblem problem = Problem();
    LtOperands operands = Operands();
    change(problem, operands);
    ExpectInvalid(library_->Multiply(problem, plan, operands), reason);
  };
  EXPECT_EQ(library_->Multiply(Problem(), plan, Operands()), absl::OkStatus());
  const auto shift = [](auto*& pointer) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(
        reinterpret_cast<uintptr_t>(pointer) + 8);
  };
  expect([&](LtProblem&, LtOperands& o) { shift(o.a); }, "less aligned");
  expect([&](LtProblem&, LtOperands& o) { shift(o.d); }, "less aligned");
  expect([&](LtProblem&, LtOperands& o) { o.vector = nullptr; }, "missing");
  // The next multiple of 128 that is not one of 256: cuBLASLt takes none on Hopper.
  expect(
      [&](LtProblem&, LtOperands& o) { o.workspace = static_cast<std::byte*>(o.workspace) + 128; },
      "256");
  expect([&](LtProblem&, LtOperands& o) { --o.workspace_bytes; }, "workspace");
  expect([&](LtProblem& p, LtOperands&) { p.n = kM - 1; }, "another problem");
}

}  // namespace
}  // namespace dtnn
