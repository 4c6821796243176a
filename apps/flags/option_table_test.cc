#include "apps/flags/option_table.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "apps/flags/value.h"
#include "gtest/gtest.h"
#include "models/run/parts/make_trainer_options.h"

namespace dtnn {
namespace {

TEST(OptionTableTest, NamesAreUniqueAndCanonical) {
  std::set<std::string> names = {"help", "h"};
  const auto add = [&](std::string_view name) {
    EXPECT_TRUE(names.insert(std::string(name)).second) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), name.npos) << name;
  };
  for (const OptionSpec& spec : OptionTable()) add(spec.name);
  for (const OptionAlias& alias : AliasTable()) add(alias.old_name);
  for (const ComputedValue& computed : ComputedValueTable()) add(computed.name);
}

TEST(OptionTableTest, GroupsStandTogetherInTheOrderOfTheParameterList) {
  EXPECT_TRUE(std::ranges::is_sorted(OptionTable(), {}, &OptionSpec::group));
  for (int g = 0; g < kOptionGroups; ++g) {
    EXPECT_FALSE(Name(static_cast<OptionGroup>(g)).empty());
    EXPECT_FALSE(Title(static_cast<OptionGroup>(g)).empty());
  }
}

// Every option of the user documentation with its default, but for some: warm-up-batches has 5
// there, beside a warm-up-epochs of 5 that would then never count; stop-at-loss-metric is spelt by
// its alias; cpu-speed and memory-bw have numbers there, where the machine is measured here;
// tensor-format has NHWC there, which is what AUTO is wherever that is the fastest;
// enable-cudnn-auto-conv-alg has True there, which was found to cost much and bring nothing.
constexpr std::string_view kDocumentedDefaults =
    "model=None batch-size=None global-batch-size=None dtype=float32 num-epochs=1 "
    "steps-per-epoch=0 "
    "evaluate=False evaluate-only=False weights-and-bias-filename=None history-file=None "
    "tensor-format=AUTO random-seed=57005 shared-storage=True model-sync-freq=0 model-sync-alg=avg "
    "model-sync-participation=all model-sync-min-avail=0 initial-model-sync=True "
    "final-model-sync=True dataset=None dataset-path=None "
    "dataset-train-path=None "
    "dataset-test-path=None dataset-lang=en dataset-lang2=de synthetic-train-samples=1000 "
    "synthetic-test-samples=100 synthetic-input-shape=3,32,32 synthetic-output-shape=10 "
    "dataset-percentage=0 test-as-validation=False validation-split=0.2 augment-shuffle=True "
    "augment-flip=False augment-flip-prob=0.5 augment-crop=False augment-crop-size=16 "
    "augment-crop-prob=0.5 transform-crop=False transform-crop-perc=0.875 "
    "transform-resize=False "
    "transform-resize-size=300 normalize=False normalize-offset=-0.45 normalize-scale=3.75 "
    "use-synthetic-data=False enable-best-of=False enable-memory-cache=True "
    "enable-fused-bn-relu=True enable-fused-conv-relu=True enable-fused-conv-bn=True "
    "enable-fused-conv-bn-relu=True conv-variant=auto conv-direct-method=None "
    "conv-direct-methods-for-best-of= optimizer=sgd learning-rate=0.01 learning-rate-scaling=False "
    "optimizer-momentum=0.9 optimizer-decay=0 optimizer-nesterov=False optimizer-beta1=0.99 "
    "optimizer-beta2=0.999 optimizer-epsilon=1e-07 optimizer-rho=0.9 "
    "loss-func=categorical_cross_entropy metrics=categorical_accuracy "
    "schedulers=early_stopping,reduce_lr_on_plateau,model_checkpoint warm-up-batches=None "
    "warm-up-epochs=5 early-stopping-metric=val_categorical_cross_entropy "
    "early-stopping-patience=10 early-stopping-minimize=True "
    "reduce-lr-on-plateau-metric=val_categorical_cross_entropy reduce-lr-on-plateau-factor=0.1 "
    "reduce-lr-on-plateau-patience=5 reduce-lr-on-plateau-min-lr=0 "
    "reduce-lr-every-nepochs-factor=0.1 reduce-lr-every-nepochs-nepochs=5 "
    "reduce-lr-every-nepochs-min-lr=0 stop-at-loss-metric=val_categorical_accuracy "
    "stop-at-loss-threshold=0 "
    "model-checkpoint-metric=val_categorical_cross_entropy model-checkpoint-save-freq=2 "
    "parallel=sequential use-blocking-mpi=True use-mpi-buffers=None enable-gpu=False "
    "enable-gpudirect=False enable-nccl=False enable-cudnn-auto-conv-alg=False encryption=None "
    "encryption-poly-degree=13 encryption-global-scale=40 encryption-security-level=128 "
    "tracing=False tracer-output=None tracer-pmlib-server=127.0.0.1 tracer-pmlib-port=6526 "
    "tracer-pmlib-device=None profile=False dry-run=False cpu-speed=0 memory-bw=0 "
    "network-bw=1000000000 "
    "network-lat=5e-07 network-alg=vdg optimizer-tau=64 optimizer-tau-prime=32 "
    "optimizer-density=0.01 ";

// Defaults of options that are newer than that documentation; scripts and checkpoints rely on them.
constexpr std::string_view kNewerDefaults =
    "weights-format=auto weights-partial=False freeze=None save-model=None checkpoint-dir=None "
    "checkpoint-freq=1 transform-square=False "
    "checkpoint-steps=0 resume=False sync-batch-norm=False synthetic-pattern=zeros "
    "augment=None mixup=0 standardize=False loader-threads=0 optimizer-decay-all=True clip-norm=0 "
    "dp-sgd-clip=0 dp-sgd-noise=0 dp-sgd-delta=1e-05 "
    "accumulate-steps=1 "
    "label-smoothing=0 ema=0 find-learning-rate=False class-weights=None model-dir=None "
    "cosine-min-lr=0 "
    "cosine-restart-epochs=0 cosine-restart-growth=1 polynomial-power=1 polynomial-min-lr=0 "
    "early-stopping-min-delta=0 options=None save-options=None comm-timeout=300 "
    "force=False quiet=False "
    "verbose=False best-of-file=None report=None progress=auto tensorboard-dir=None "
    "energy=False gpu-device=cuda math-mode=fp32 enable-cuda-graphs=True cudnn-plans=None "
    "server=127.0.0.1:61643 "
    "client-name=None client-labels=None identity-key-file=None aggregator-key=None "
    "local-parameters=None "
    "dataset-part=None skip-damaged-images=False "
    "encryption-key-file=None dp-clip=0 dp-noise=0 dp-delta=1e-05 dp-quantile=0 "
    "dp-clip-rate=0.2 dp-bit-noise=0 gradient-compression=none "
    "elastic=None log-format=text "
    "metrics-port=None metrics-listen=127.0.0.1 metrics-certificate=None metrics-key=None "
    "metrics-token-file=None metrics-allow-unprotected=False metrics-allowed-hosts=None ";

// How many options `list` names.
int64_t CheckDefaults(std::string_view list) {
  int64_t count = 0;
  for (std::string_view rest = list; !rest.empty(); ++count) {
    const std::string_view item = rest.substr(0, rest.find(' '));
    rest.remove_prefix(item.size() + 1);
    const size_t equals = item.find('=');
    const OptionSpec* spec = FindOption(item.substr(0, equals));
    EXPECT_NE(spec, nullptr) << item;
    if (spec == nullptr) continue;
    EXPECT_EQ(DefaultText(*spec), item.substr(equals + 1)) << spec->name;
  }
  return count;
}

TEST(OptionTableTest, HoldsEveryDocumentedOptionWithItsDefault) {
  EXPECT_EQ(CheckDefaults(kDocumentedDefaults), 110);
  EXPECT_EQ(CheckDefaults(kNewerDefaults), 72);
}

TEST(OptionTableTest, DefaultsAreValidValues) {
  for (const OptionSpec& spec : OptionTable()) {
    const absl::StatusOr<Value> value = ParseValue(spec, DefaultText(spec));
    ASSERT_TRUE(value.ok()) << spec.name << ": " << value.status();
    EXPECT_EQ(FormatValue(*value), DefaultText(spec)) << spec.name;
  }
}

TEST(OptionTableTest, NumbersCarryTheirRange) {
  for (const OptionSpec& spec : OptionTable()) {
    const bool number = spec.type == OptionType::kInt || spec.type == OptionType::kReal ||
                        spec.type == OptionType::kInts || spec.type == OptionType::kReals;
    const bool bounded = std::isfinite(spec.range.low) && std::isfinite(spec.range.high);
    // Every whole number is a seed.
    EXPECT_EQ(bounded, number && spec.name != "random-seed") << spec.name;
  }
}

TEST(OptionTableTest, WordsAreGivenExactlyWhereTheyAreNeeded) {
  for (const OptionSpec& spec : OptionTable()) {
    const bool takes_words = spec.type == OptionType::kWord || spec.type == OptionType::kWords ||
                             spec.type == OptionType::kMetric;
    const bool file_or_switch = spec.type == OptionType::kText && spec.is_switch();
    EXPECT_EQ(takes_words || file_or_switch, !spec.words.empty()) << spec.name;
    EXPECT_FALSE(spec.help.empty()) << spec.name;
  }
}

TEST(OptionTableTest, FieldsBelongToOneOptionAndFitItsType) {
  for (const OptionSpec& spec : OptionTable()) {
    for (const OptionSpec& other : OptionTable()) {
      if (&spec != &other) {
        EXPECT_NE(spec.path, other.path) << spec.name << " and " << other.name;
      }
    }
    Options options;
    const Value value = ParseValue(spec, DefaultText(spec)).value();
    Store(value, spec, &options);
    EXPECT_EQ(FormatValue(Load(&options, spec)), DefaultText(spec)) << spec.name;
    if (!spec.by_default.empty()) continue;  // to ask for it is something else
    EXPECT_EQ(OptionsInForce(options), OptionsInForce(Options())) << spec.name;
  }
}

// Every old spelling with what it means; "!" inverts, "=" stands for --name=value when true.
constexpr std::string_view kDocumentedAliases =
    "flip-images:augment-flip flip-images-prob:augment-flip-prob crop-images:augment-crop "
    "crop-images-size:augment-crop-size crop-images-prob:augment-crop-prob "
    "lr-schedulers:schedulers momentum:optimizer-momentum decay:optimizer-decay "
    "nesterov:optimizer-nesterov beta1:optimizer-beta1 beta2:optimizer-beta2 "
    "epsilon:optimizer-epsilon rho:optimizer-rho decay-rate:optimizer-rho "
    "non-blocking-mpi:!use-blocking-mpi blocking-mpi:use-blocking-mpi "
    "enable-conv-gemm:conv-variant=gemm enable-conv-winograd:conv-variant=winograd "
    "enable-conv-i2c:conv-variant=i2c enable-conv-direct:conv-variant=direct "
    "model-sync-algo:model-sync-alg model-state-filename:weights-and-bias-filename "
    "parallel-data:parallel=data ";

TEST(OptionTableTest, AliasesAreTheDocumentedOnes) {
  std::string aliases;
  for (const OptionAlias& alias : AliasTable()) {
    aliases += std::string(alias.old_name) + (alias.kind == AliasKind::kInvert ? ":!" : ":") +
               std::string(alias.name);
    if (alias.kind == AliasKind::kWhenTrue) aliases += "=" + std::string(alias.value);
    aliases += " ";
  }
  EXPECT_EQ(aliases, kDocumentedAliases);
}

TEST(OptionTableTest, AliasesLeadToOptions) {
  for (const OptionAlias& alias : AliasTable()) {
    const OptionSpec* spec = FindOption(alias.name);
    ASSERT_NE(spec, nullptr) << alias.old_name;
    if (alias.kind == AliasKind::kInvert) {
      EXPECT_EQ(spec->type, OptionType::kBool);
    }
    EXPECT_EQ(alias.kind == AliasKind::kWhenTrue, !alias.value.empty()) << alias.old_name;
  }
  EXPECT_EQ(FindAlias("model"), nullptr);
  EXPECT_EQ(FindOption("momentum"), nullptr);
}

TEST(OptionTableTest, OtherNamesLeadToOptionsAndAreNone) {
  for (const OtherName& other : OtherNameTable()) {
    EXPECT_NE(FindOption(other.name), nullptr) << other.other;
    EXPECT_EQ(FindOption(other.other), nullptr) << other.other;
    EXPECT_EQ(FindAlias(other.other), nullptr) << other.other;
  }
}

TEST(OptionTableTest, EveryPathIsAPathOfTheRun) {
  size_t paths = 0;
  for (const OptionSpec& spec : OptionTable()) {
    if (spec.type != OptionType::kPath) continue;
    // They are the program's, not the run's.
    if (spec.name.ends_with("options") || spec.name.starts_with("metrics-")) continue;
    ++paths;
    Options options;
    Store(Value("a"), spec, &options);
    const std::vector<std::string*> known = PathsOf(options);
    EXPECT_EQ(std::ranges::count_if(known, [](const auto* path) { return *path == "a"; }), 1)
        << spec.name;
    EXPECT_EQ(known.size(), PathsOf(options).size());
  }
  Options options;
  EXPECT_EQ(PathsOf(options).size(), paths);
}

// As --conv-direct-method=list says.
// Files and folders that a run reads, or that runs share. Others are its own output.
TEST(OptionTableTest, EveryPathIsReadOrWritten) {
  const std::set<std::string_view> read = {
      "weights-and-bias-filename", "dataset-path",        "dataset-train-path",
      "dataset-test-path",         "best-of-file",        "cudnn-plans",
      "identity-key-file",         "encryption-key-file", "options",
      "metrics-certificate",       "metrics-key",         "metrics-token-file"};
  for (const OptionSpec& spec : OptionTable()) {
    const bool path = spec.type == OptionType::kPath || spec.unit == "file";
    EXPECT_EQ(spec.output, path && !read.contains(spec.name)) << spec.name;
  }
}

TEST(OptionTableTest, MethodsOfDirectMeanTheVariantsThatTheirListNames) {
  constexpr std::string_view kHere = "; here --conv-variant=";
  Options options;
  options.convolution.variant = "direct";
  EXPECT_EQ(ConvVariantOf(options), "direct");
  std::istringstream lines{std::string(FindOption("conv-direct-method")->meanings)};
  int others = 0;
  for (std::string line; std::getline(lines, line);) {
    options.convolution.direct_method = line.substr(0, line.find(": "));
    const size_t here = line.find(kHere);
    others += here != line.npos;
    EXPECT_EQ(ConvVariantOf(options),
              here == line.npos ? "direct" : line.substr(here + kHere.size()))
        << line;
  }
  EXPECT_EQ(others, 7);
}

}  // namespace
}  // namespace dtnn
