// What the launcher refuses, what it warns of and what it takes, before any work: exit code and
// message, as a user meets them. A row per case; the number is that of the rule.

#include <array>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "apps/testing/process.h"
#include "gtest/gtest.h"
#include "tensor/files/npz.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

constexpr int kDone = 0, kFailed = 1, kUsage = 2;

struct Case {
  int rule;
  const char* arguments;
  int exit_code;
  const char* message;  // part of the text; of an error, its only line
};

// A run of a moment; what a case says after it wins.
constexpr char kRun[] =
    "--model=simplemlp --dataset=synthetic --synthetic-input-shape=1,8,8 "
    "--synthetic-output-shape=3 --synthetic-train-samples=20 --synthetic-test-samples=5 "
    "--batch-size=4 ";

constexpr Case kCases[] = {
    {1, "--global-batch-size=8", kUsage,
     "--batch-size=4 and --global-batch-size=8: cannot be used together"},
    {1, "--batch-size=0", kUsage, "--batch-size=0: "},
    {1, "--batch-size=None --global-batch-size=0", kUsage, "--global-batch-size=0: "},
    {1, "--batch-size=None --global-batch-size=1", kDone, "**** Done"},

    {2, "--model=simplecn", kUsage, "--model=simplecn: unknown model"},
    {2, "--dataset=mnits", kUsage, "did you mean \"mnist\"?"},
    {2, "--optimizer=sdg", kUsage, "did you mean \"sgd\"?"},
    {2, "--loss-func=hinge", kUsage, "--loss-func=hinge: "},
    {2, "--metrics=acuracy", kUsage, "--metrics=acuracy: "},
    {2, "--schedulers=warmup", kUsage, "did you mean \"warm_up\"?"},
    {2, "--schedulers=warm_up,warm_up", kUsage,
     "--schedulers=warm_up,warm_up: names warm_up twice"},
    {2, "--dtype=float16", kUsage, "--dtype=float16: "},
    {2, "--tensor-format=NWHC", kUsage, "--tensor-format=NWHC: "},
    {2, "--conv-variant=fft", kUsage, "--conv-variant=fft: "},
    {2, "--conv-direct-method=x", kUsage, "--conv-direct-method=x: unknown word \"x\""},
    {2, "--conv-variant=direct --conv-direct-method=planr", kUsage, "did you mean \"planar\"?"},
    {2, "--conv-direct-method=planar", kDone,
     "--conv-direct-method has no effect with --conv-variant=auto"},
    {2, "--conv-variant=direct --conv-direct-method=convdirect_im2row_nhwc_default", kDone,
     "**** Done"},
    {2, "--verbose --conv-variant=direct --conv-direct-method=convdirect_im2row_nhwc_default",
     kDone, ", convolutions by i2c; "},
    {2, "--enable-memory-cache=False", kDone, "\nWorkspaces: allocated "},
    {2, "--enable-memory-cache", kDone, "**** Done"},
    {2, "--model-sync-alg=mean", kUsage, "--model-sync-alg=mean: "},
    {2, "--model-sync-participation=some", kUsage, "--model-sync-participation=some: "},
    {2, "--parallel=model", kUsage, "--parallel=model: "},
    {2, "--encryption=rot13", kUsage, "--encryption=rot13: "},
    {2, "--encryption-security-level=64", kUsage, "--encryption-security-level=64: "},

    {3, "--enable-nccl", kDone, "--enable-nccl has no effect with --parallel=sequential"},
    {3, "--enable-gpudirect", kDone, "--enable-gpudirect has no effect with --parallel=sequential"},
    {4, "--enable-gpudirect --parallel=data --enable-gpu --gpu-device=simulated", kUsage,
     "--enable-gpudirect: gradients go to MPI through pinned memory"},
    {4, "--enable-cudnn-auto-conv-alg", kDone,
     "--enable-cudnn-auto-conv-alg has no effect without --enable-gpu"},
    {4, "--enable-cudnn-auto-conv-alg --enable-gpu --gpu-device=simulated", kDone, "**** Done"},
    {4, "--cudnn-plans=plans", kDone, "--cudnn-plans has no effect without --enable-gpu"},
    {4, "--cudnn-plans=plans --enable-gpu --gpu-device=simulated", kDone,
     "--cudnn-plans has no effect with --gpu-device=simulated"},
    {4, "--best-of-file=tuned.txt --enable-gpu --gpu-device=simulated", kDone,
     "--best-of-file has no effect with --gpu-device=simulated"},
    {4, "--parallel=data", kUsage,
     "--parallel=data: needs ranks, and this process was started alone"},
    {4, "--parallel=data --transport=tcp", kDone, "**** One rank: trains alone"},
    {4, "--enable-nccl --parallel=data --transport=tcp", kDone,
     "--enable-nccl has no effect without --enable-gpu"},
    {4, "--enable-nccl --parallel=data --transport=tcp --enable-gpu --gpu-device=simulated", kDone,
     "**** Done"},

    {4, "--math-mode=fp8", kUsage, "--math-mode=fp8: "},
    {4, "--math-mode=fp32", kDone, "**** Done"},
    {4, "--math-mode=bf16", kDone, "**** Done"},
    {4, "--math-mode=bf16 --dtype=float64", kUsage,
     "--math-mode=bf16 and --dtype=float64: cannot be used together"},
    {4, "--math-mode=fp16", kUsage, "--math-mode=fp16: CPUs compute with fp32 or bf16"},
    {4, "--math-mode=tf32 --enable-gpu --gpu-device=simulated --dtype=float64", kUsage,
     "--math-mode=tf32 and --dtype=float64: cannot be used together"},
    {4, "--math-mode=fp16 --enable-gpu --gpu-device=simulated", kDone, "**** Done"},

    {5, "--augment-flip --augment-flip-prob=0", kUsage, "--augment-flip-prob=0: "},
    {5, "--augment-flip --augment-flip-prob=1.01", kUsage, "--augment-flip-prob=1.01: "},
    {5, "--augment-crop --augment-crop-prob=0", kUsage, "--augment-crop-prob=0: "},
    {5, "--validation-split=1", kUsage, "--validation-split=1: "},
    {5, "--validation-split=-0.1", kUsage, "--validation-split=-0.1: "},
    {5, "--validation-split=0", kDone, "**** Done"},
    {5, "--transform-crop --transform-crop-perc=0", kUsage, "--transform-crop-perc=0: "},
    {5, "--transform-crop --transform-crop-perc=1.5", kUsage, "--transform-crop-perc=1.5: "},
    {5, "--dataset-percentage=-1", kUsage, "--dataset-percentage=-1: "},
    {5, "--dataset-percentage=2.5", kDone, "**** Done"},
    {5, "--dataset-percentage=5 --steps-per-epoch=1", kDone,
     "warning: --dataset-percentage=5: is a share, not per cent; uses all data 5 times"},

    {6, "--augment-crop --augment-crop-size=9", kUsage,
     "--augment-crop-size=9: is larger than the samples, 8 x 8"},
    {6, "--augment-crop --augment-crop-size=8", kDone, "**** Done"},
    {6, "--augment-crop --augment-crop-size=8 --transform-resize --transform-resize-size=7", kUsage,
     "--augment-crop-size=8: is larger than the samples, 7 x 7"},
    {6, "--augment-crop --augment-crop-size=9 --transform-resize --transform-resize-size=9", kDone,
     "**** Done"},

    {6, "--augment=pad_crop:2,flip,cutout:3,rotate,color_jitter,resized_crop,crop:3", kDone,
     "**** Done"},
    {6, "--augment=flip,pad_crop:8", kUsage,
     "--augment=flip:0.5,pad_crop:8:zero: pad_crop: a padding of 8 pixels could crop away all of "
     "the samples, 8 x 8"},
    {6, "--augment=cutout --augment-crop", kUsage,
     "--augment=cutout: cannot be used with --augment-flip or --augment-crop; write flip:0.5 or "
     "crop:16:0.5 "
     "into the list"},
    {6, "--mixup=0.2 --label-smoothing=0.1 --augment=flip", kDone, "**** Done"},
    {6, "--mixup=0.2 --loss-func=mse", kDone, "**** Done"},
    {6, "--class-weights=1,2,0.5", kDone, "**** Class weights: 0.5 (class 2) to 2 (class 1)"},
    {6, "--class-weights=1,2,0.5 --evaluate-only", kDone,
     "--class-weights has no effect with --evaluate-only"},
    {6, "--class-weights=often --evaluate-only", kUsage,
     "--class-weights=often: \"often\" is not a weight; expected balanced, or"},
    {6, "--class-weights=1,-2,1 --dry-run", kUsage,
     "--class-weights=1,-2,1: \"-2\" is not a weight"},
    {6, "--class-weights=1,2 --dry-run", kUsage,
     "--class-weights: has 2 weights, but synthetic has 3 classes"},
    {6, "--class-weights=1,2,0.5 --dry-run", kDone, "**** One sample: "},
    {6, "--class-weights=balanced --loss-func=mse --dry-run", kUsage,
     "--class-weights=balanced: needs --loss-func=categorical_cross_entropy, not mse"},
    {6, "--mixup=2.5", kUsage, "--mixup=2.5: must be a real number >= 0 and <= 2"},
    {6, "--mixup=0.2 --enable-gpu --gpu-device=simulated", kDone, "**** Done"},
    {6, "--mixup=0.2 --enable-gpu --gpu-device=simulated --math-mode=fp16", kDone, "**** Done"},
    {6, "--loss-func=mse --enable-gpu --gpu-device=simulated --math-mode=bf16", kDone, "**** Done"},
    {6, "--conv-variant=gemm --enable-gpu", kUsage,
     "--conv-variant and --enable-gpu: cannot be used together"},
    {6, "--augment=flop", kUsage, "--augment=flop: unknown transform \"flop\"; must be one of: "},
    {6, "--augment=flop", kUsage, "; did you mean \"flip\"?"},

    {7, "--evaluate-only --schedulers=early_stopping", kDone,
     "warning: --evaluate-only: tests a network with random weights"},
    {8, "--metrics=precision,recall,f1_score", kDone, "**** Done"},
    {9, "--loss-func=binary_cross_entropy", kDone, "**** Done"},
    {9,
     "--loss-func=binary_cross_entropy --dataset=archive --dataset-path=$TEST_TMPDIR/targets.npz "
     "--metrics=",
     kFailed, "target 1 of sample 0 of the batch is 1.5, expected 0 to 1"},
    {10, "--model=vgg16_cifar10", kFailed,
     "takes samples of 32x32x3 (height x width x channels) and 10 classes, but the data set has "
     "8x8x1 and 3"},
    {10, "--model=vgg16_cifar10 --synthetic-input-shape=3,32,32", kFailed,
     "10 classes, but the data set has 32x32x3 and 3"},
    {11, "--conv-variant=winograd", kDone, "**** Done"},
    {11, "--conv-direct-methods-for-best-of=x", kUsage, "unknown word \"x\""},
    {11, "--conv-direct-methods-for-best-of=planar", kDone,
     "has no effect without --enable-best-of"},
    {11,
     "--enable-best-of --model=simplecnn --evaluate-only "
     "--conv-direct-methods-for-best-of=convdirect_tzemeng_nhwc_7x12_u4",
     kDone, " convdirect_tzemeng_nhwc_7x12_u4 "},
    {11, "--enable-best-of", kDone, "**** BestOf: 0 decisions"},
    {11, "--enable-best-of --model=simplecnn", kDone, "**** BestOf: conv2d backward_data"},
    {11, "--enable-best-of --model=simplecnn --evaluate-only", kDone,
     "**** BestOf: conv2d forward"},
    {11, "--enable-best-of --conv-variant=auto", kDone, "**** Done"},
    {11, "--enable-best-of --conv-variant=gemm", kUsage,
     "--conv-variant=gemm and --enable-best-of: cannot be used together"},
    {11, "--best-of-file=tuned.txt", kDone,
     "--best-of-file has no effect without --enable-best-of"},
    {11, "--enable-best-of --model=simplecnn --best-of-file=/no/such/folder/tuned.txt", kFailed,
     "--best-of-file: /no/such/folder/tuned.txt: "},
    {12, "--parallel=data --use-mpi-buffers=True --encryption=tenseal", kUsage,
     "--encryption=tenseal and --use-mpi-buffers=True: cannot be used together; MPI cannot add"},
    {13, "--parallel=data --encryption=openfhe", kUsage,
     "--encryption=openfhe and --parallel=data: cannot be used together; it protects clients"},
    {13, "--parallel=data --encryption=masked", kUsage,
     "--encryption=masked and --parallel=data: "},
    {13, "--parallel=data --encryption=tenseal --enable-gpu --enable-nccl", kUsage,
     "--encryption=tenseal and --enable-nccl: "},
    {13, "--parallel=data --encryption=tenseal --enable-gpu --gpu-device=simulated", kUsage,
     "--encryption=tenseal and --enable-gpu: "},
    {13, "--parallel=data --encryption=tenseal --dtype=float64", kUsage,
     "--encryption=tenseal and --dtype=float64: "},
    {13, "--parallel=data --encryption=tenseal --gradient-compression=bf16", kUsage,
     "--encryption=tenseal and --gradient-compression=bf16: "},
    {13, "--parallel=data --encryption=tenseal --optimizer=oktopk", kUsage,
     "--encryption=tenseal and --optimizer=oktopk: "},
    {13, "--parallel=data --encryption=tenseal --sync-batch-norm", kUsage,
     "--encryption=tenseal and --sync-batch-norm: "},
    {13, "--parallel=data --encryption=tenseal --elastic=2:4", kUsage,
     "--encryption=tenseal and --elastic: "},
    {13, "--parallel=data --encryption=tenseal", kUsage,
     "--encryption-key-file: missing; --encryption=tenseal needs the key that all ranks share"},
    {13, "--parallel=data --transport=tcp --encryption=tenseal --encryption-key-file=key", kDone,
     "--encryption has no effect with one rank"},
    {13,
     "--parallel=data --transport=tcp --encryption=tenseal --encryption-key-file=key "
     "--use-blocking-mpi=False",
     kDone, "--use-blocking-mpi has no effect with --encryption=tenseal"},
    {13, "--parallel=federated --enable-gpu", kUsage, "--parallel=federated and --enable-gpu: "},
    {13, "--optimizer=oktopk --dtype=float64", kUsage,
     "--optimizer=oktopk and --dtype=float64: cannot be used together; "},
    {13, "--optimizer=oktopk --enable-gpu", kUsage, "--optimizer=oktopk and --enable-gpu: "},
    {13, "--optimizer=oktopk --parallel=federated", kUsage, "--optimizer=oktopk and --parallel="},
    {13, "--optimizer=oktopk --parallel=data --model-sync-freq=2", kUsage,
     "--optimizer=oktopk: needs --model-sync-freq=0 and --shared-storage=True"},
    {13, "--optimizer=oktopk --parallel=data --noshared-storage", kUsage,
     "--optimizer=oktopk: needs --model-sync-freq=0 and --shared-storage=True"},
    {13, "--optimizer=oktopk --parallel=data --gradient-compression=bf16", kUsage,
     "--optimizer=oktopk and --gradient-compression=bf16: cannot be used together"},
    {13, "--find-learning-rate --resume --checkpoint-dir=c", kUsage,
     "--find-learning-rate and --resume: cannot be used together; give the rate that was found"},
    {13, "--find-learning-rate --parallel=federated", kUsage,
     "--find-learning-rate and --parallel=federated: "},
    {13, "--find-learning-rate --learning-rate=1 --dry-run", kDone,
     "--learning-rate has no effect with --find-learning-rate"},
    {13, "--find-learning-rate --evaluate-only", kDone,
     "--find-learning-rate has no effect with --evaluate-only"},
    {13, "--ema=0.9 --parallel=federated", kUsage, "--ema and --parallel=federated: "},
    {13, "--ema=0.9 --parallel=data --model-sync-freq=2", kUsage,
     "--ema: needs --model-sync-freq=0 and --shared-storage=True"},
    {13, "--ema=1", kUsage, "--ema=1: must be"},
    {13, "--ema=0.9", kDone, "**** Done"},
    {13, "--gradient-compression=fp16 --parallel=data --enable-gpu --enable-nccl", kUsage,
     "--gradient-compression=fp16 and --enable-nccl: cannot be used together"},
    {13, "--gradient-compression=fp8 --parallel=data", kUsage, "--gradient-compression=fp8: "},
    {13, "--optimizer=oktopk --optimizer-density=0", kUsage, "--optimizer-density=0: "},
    {13, "--optimizer=oktopk --optimizer-tau=0", kUsage, "--optimizer-tau=0: "},
    {13, "--optimizer-density=0.1", kDone,
     "--optimizer-density has no effect with --optimizer=sgd"},
    {13, "--gradient-compression=bf16", kDone,
     "--gradient-compression has no effect with --parallel=sequential"},
    {13, "--optimizer=oktopk", kDone, "**** Done"},
    {13, "--optimizer=oktopk --optimizer-density=1 --parallel=data --transport=tcp", kDone,
     "**** Done"},
    {13, "--gradient-compression=bf16 --parallel=data --transport=tcp", kDone, "**** Done"},
    {13, "--gradient-compression=fp16 --parallel=data --transport=tcp --use-blocking-mpi=False",
     kDone, "**** Done"},

    {13, "--encryption=tenseal", kUsage,
     "--encryption=tenseal: protects what ranks or clients send"},
    {13, "--elastic=1:2", kUsage,
     "--elastic=1:2: needs ranks that train together; add --parallel=data"},
    {13, "--parallel=federated --encryption=tenseal", kUsage, "--encryption-key-file: missing"},
    {13, "--parallel=federated --transport=mpi", kUsage,
     "--parallel=federated and --transport=mpi: "},
    {13, "--parallel=federated --identity-key-file=/none/key", kFailed,
     "--identity-key-file: /none/key"},
    {13, "--parallel=federated --aggregator-key=AAAA", kUsage,
     "--aggregator-key: is not the 44 characters in base64 of a public key"},
    {13, "--aggregator-key=AAAA", kDone,
     "--aggregator-key has no effect with --parallel=sequential"},
    {13, "--dp-clip=1", kDone, "--dp-clip has no effect with --parallel=sequential"},
    {13, "--encryption=None", kDone, "**** Done"},
    {14,
     "--enable-fused-bn-relu --enable-fused-conv-relu --enable-fused-conv-bn "
     "--enable-fused-conv-bn-relu",
     kDone, "**** Done"},

    {15, "--parallel=data --transport=tcp --model-sync-min-avail=2", kUsage,
     "--model-sync-min-avail=2: must be at most the number of ranks, 1"},
    {15, "--model-sync-min-avail=-1", kUsage, "--model-sync-min-avail=-1: "},
    {15, "--model-sync-freq=3", kDone,
     "--model-sync-freq has no effect with --parallel=sequential"},
    {15, "--parallel=data --sync-batch-norm --model-sync-freq=1", kUsage, "--sync-batch-norm: "},
    {15, "--parallel=data --sync-batch-norm --noshared-storage", kUsage, "--sync-batch-norm: "},
    {15, "--final-model-sync=False", kDone, "**** Done"},
    {16, "--encryption-poly-degree=13 --encryption-global-scale=40 --tracer-pmlib-port=6526", kDone,
     "**** Done"},
    {16, "--tracer-pmlib-device=x", kDone, "--tracer-pmlib-device has no effect without --energy"},

    {17, "--early-stopping-metric=val_recall", kUsage,
     "early_stopping watches val_recall, which this run does not compute"},
    {17, "--metrics=recall --early-stopping-metric=val_recall --noearly-stopping-minimize", kDone,
     "**** Done"},
    {17, "--validation-split=0 --reduce-lr-on-plateau-metric=val_categorical_accuracy", kUsage,
     "but there are no validation samples"},
    {17, "--early-stopping-metric=speed", kUsage, "--early-stopping-metric=speed: "},

    {18, "--schedulers=one_cycle,cosine", kUsage,
     "--schedulers: cosine and one_cycle both set the rate"},
    {18, "--schedulers=polynomial,cosine", kUsage,
     "--schedulers: cosine and polynomial both set the rate"},
    {18, "--schedulers=warm_up,cosine --cosine-restart-epochs=1 --cosine-restart-growth=2", kDone,
     "**** Done"},
    {18, "--schedulers=polynomial --polynomial-power=0", kUsage, "--polynomial-power=0: "},
    {18, "--early-stopping-min-delta=-1", kUsage, "--early-stopping-min-delta=-1: "},
    {18, "--learning-rate=0", kUsage, "--learning-rate=0: "},
    {18, "--learning-rate=-1", kUsage, "--learning-rate=-1: "},
    {18, "--learning-rate=inf", kUsage, "--learning-rate=inf: "},
    {18, "--learning-rate=nan", kUsage, "--learning-rate=nan: "},
    {18, "--reduce-lr-on-plateau-min-lr=0.02", kDone,
     "warning: --reduce-lr-on-plateau-min-lr=0.02: is above the learning rate, 0.01, so "},
    {18, "--schedulers=reduce_lr_every_nepochs --reduce-lr-every-nepochs-min-lr=0.02", kDone,
     "warning: --reduce-lr-every-nepochs-min-lr=0.02: is above the learning rate, 0.01, so "},
    {18, "--schedulers=cosine --cosine-min-lr=1e6", kDone,
     "warning: --cosine-min-lr=1e+06: is above the learning rate, 0.01, so the rate stays as it"},
};

// Values to predict; one is not a probability.
void WriteTargets() {
  const Tensor x = Tensor::Zeros(DType::kFloat32, Shape{20, 1, 8, 8}).value();
  const Tensor y = Tensor::Zeros(DType::kFloat32, Shape{20, 3}).value();
  y.data<float>()[7] = 1.5f;
  ASSERT_TRUE(
      WriteNpz(::testing::TempDir() + "/targets.npz", {{"x_train", x}, {"y_train", y}}).ok());
}

// The number of lines that are not warnings.
int Errors(const std::string& text) {
  int errors = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    errors += line.starts_with("benchmark: warning: ") ? 0 : 1;
  }
  return errors;
}

TEST(RulesTest, EveryCaseHasItsExitCodeAndMessage) {
  WriteTargets();
  for (const Case& c : kCases) {
    const bool refused = c.exit_code != kDone;
    // One rank that is not alone, since others could join it.
    if (std::string_view(c.arguments).find("--transport=tcp") != std::string_view::npos) {
      setenv("DTNN_JOB_SECRET", "0123456789abcdef0123456789abcdef", 1);
      setenv("PYMPI_RANK", "0", 1);
      setenv("PYMPI_SIZE", "1", 1);
    } else {
      for (const char* name : {"DTNN_JOB_SECRET", "PYMPI_RANK", "PYMPI_SIZE"}) unsetenv(name);
    }
    const testing::Outcome outcome = testing::Launch(
        "apps/benchmark", std::string(kRun) + c.arguments + (refused ? " 2>&1 >/dev/null" : ""));
    EXPECT_EQ(outcome.exit_code, c.exit_code) << "rule " << c.rule << ": " << c.arguments;
    EXPECT_NE(outcome.text.find(c.message), std::string::npos)
        << "rule " << c.rule << ": " << c.arguments << "\n"
        << outcome.text;
    if (refused) {
      EXPECT_EQ(Errors(outcome.text), 1) << outcome.text;
    }
  }
}

TEST(RulesTest, EveryRuleHasACase) {
  std::array<bool, 18> seen = {};
  for (const Case& c : kCases) seen[size_t(c.rule - 1)] = true;
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_TRUE(seen[i]) << "rule " << i + 1;
}

// In a build without CUDA, and on a machine without a GPU in a build with it.
TEST(RulesTest, AGpuThatIsNotThereIsWrongUsage) {
  const testing::Outcome outcome =
      testing::Launch("apps/benchmark", std::string(kRun) + "--enable-gpu");
  if (outcome.exit_code == kDone) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_EQ(outcome.exit_code, kUsage);
  EXPECT_TRUE(outcome.text.starts_with("benchmark: --enable-gpu: ")) << outcome.text;
}

}  // namespace
}  // namespace dtnn
