#include "apps/rounds/round_state.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "tensor/files/array_file.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;
using federation::FederationState;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr federation::PrivacyOptions kPrivacy = {.clip = 1, .noise = 1};

// One process after another in one folder.
class RoundStateTest : public ::testing::Test {
 protected:
  RoundStateTest() : folder_(testing::NewFolder("rounds")) {}

  static Graph Net() {
    GraphBuilder b("net", TensorFormat::kNHWC);
    b.Input({4, 4, 1}).Flatten().Fc(3).Softmax();
    return *b.Build();
  }

  // The next process, whose predecessor has ended.
  absl::StatusOr<FederationState> Begin(bool resume,
                                        const RoundSettings& settings = {.strategy = "wavg",
                                                                         .protection = "none",
                                                                         .is_private = true}) {
    files_.reset();
    files_.emplace(folder_, settings, graph_,
                   Must(ExchangedParameters::Create(graph_, *store_, "")), *store_, *context_, 1);
    warnings_.clear();
    return files_->Begin(resume ? Resumption::kMust : Resumption::kNo, warnings_);
  }

  // As the aggregator does before it asks a client.
  absl::Status Charge(FederationState& state) {
    ++state.attempts;
    state.privacy.AddUpdates(kPrivacy);
    state.privacy.AddModel(kPrivacy, 1, 1, 1);
    return files_->SaveLedger(state);
  }

  static double ToAggregator(const FederationState& state) {
    return state.privacy.aggregator().Epsilon(1e-5);
  }
  static double After(int attempts) {
    FederationState state;
    for (int i = 0; i < attempts; ++i) state.privacy.AddUpdates(kPrivacy);
    return ToAggregator(state);
  }

  const std::string folder_;
  const Graph graph_ = Net();
  const std::unique_ptr<DeviceContext> context_ = Must(DeviceContext::Create(Device::Cpu()));
  const std::unique_ptr<ParameterStore> store_ =
      Must(ParameterStore::Create(graph_, *context_, DType::kFloat32, 1));
  std::optional<RoundState> files_;
  std::vector<std::string> warnings_;
};

TEST_F(RoundStateTest, AttemptsOfProcessesThatWereKilledStayCharged) {
  FederationState state = Must(Begin(/*resume=*/false));
  ASSERT_EQ(Charge(state), absl::OkStatus());
  state = Must(Begin(/*resume=*/true));  // no round was done yet
  EXPECT_THAT(warnings_, ::testing::ElementsAre(HasSubstr("contains no round")));
  EXPECT_EQ(state.attempts, 1u);
  EXPECT_EQ(ToAggregator(state), After(1));
  EXPECT_FALSE(state.parameters.empty());
  ASSERT_EQ(Charge(state), absl::OkStatus());
  state.rounds_done = 1;
  ASSERT_EQ(files_->Save(state), absl::OkStatus());
  ASSERT_EQ(Charge(state), absl::OkStatus());
  state = Must(Begin(/*resume=*/true));
  EXPECT_EQ(state.rounds_done, 1);
  EXPECT_EQ(state.attempts, 3u) << "no number is given twice";
  EXPECT_EQ(ToAggregator(state), After(3));
  EXPECT_EQ(state.privacy.model().spent(), state.privacy.aggregator().spent());
}

TEST_F(RoundStateTest, AClipThatAdaptsComesBackToTheBit) {
  FederationState state = Must(Begin(/*resume=*/false));
  EXPECT_EQ(state.clip, 0);
  ASSERT_EQ(Charge(state), absl::OkStatus());
  state.rounds_done = 1;
  state.clip = 0.1 * 1.1 * 1.1;
  ASSERT_EQ(files_->Save(state), absl::OkStatus());
  EXPECT_EQ(Must(Begin(/*resume=*/true)).clip, state.clip);
}

TEST_F(RoundStateTest, AControlVariateComesBack) {
  const RoundSettings settings = {.strategy = "scaffold", .protection = "none"};
  FederationState state = Must(Begin(/*resume=*/false, settings));
  state.rounds_done = 1;
  for (size_t i = 0; i < Must(ExchangedParameters::Create(graph_, *store_, "")).trainable(); ++i) {
    state.control.push_back(0.5f + float(i));
  }
  ASSERT_EQ(files_->Save(state), absl::OkStatus());
  const std::vector<float> control = Must(Begin(/*resume=*/true, settings)).control;
  ASSERT_EQ(control.size(), state.control.size());
  int same = 0;
  for (size_t i = 0; i < control.size(); ++i) {  // memory has gaps between arrays, which are 0
    same += control[i] == state.control[i] ? 1 : 0;
    EXPECT_TRUE(control[i] == state.control[i] || control[i] == 0) << i;
  }
  EXPECT_EQ(same, 16 * 3 + 3);
}

TEST_F(RoundStateTest, AnEncryptedSumComesWithItsLedger) {
  FederationState state = Must(Begin(/*resume=*/false));
  ASSERT_EQ(Charge(state), absl::OkStatus());
  state.rounds_done = 1;
  state.from = {.encrypted = true, .attempt = 1, .clients = 3, .divisor = 2};
  state.encrypted = {{1, 2, 3}, {4, 5, 6}};
  ASSERT_EQ(files_->Save(state), absl::OkStatus());
  ASSERT_EQ(Charge(state), absl::OkStatus());
  const FederationState resumed = Must(Begin(/*resume=*/true));
  EXPECT_EQ(resumed.encrypted, state.encrypted);
  EXPECT_THAT(resumed.parameters, IsEmpty());
  EXPECT_EQ(resumed.attempts, 2u);
  EXPECT_EQ(ToAggregator(resumed), After(2));
}

// Clients have been promised one protection, and state is that of one strategy.
TEST_F(RoundStateTest, AFederationContinuesWithTheSettingsThatItBeganWith) {
  for (const bool encrypted : {false, true}) {
    FederationState state = Must(Begin(/*resume=*/encrypted));
    ASSERT_EQ(Charge(state), absl::OkStatus());
    ++state.rounds_done;
    if (encrypted) {
      state.from = {.encrypted = true, .attempt = 2, .clients = 3, .divisor = 2};
      state.encrypted = {{1, 2, 3}};
    }
    ASSERT_EQ(files_->Save(state), absl::OkStatus());
    const auto message = [&](const RoundSettings& settings) {
      const absl::Status status = Begin(/*resume=*/true, settings).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
      return std::string(status.message());
    };
    EXPECT_THAT(message({.strategy = "wavg", .protection = "masked", .is_private = true}),
                HasSubstr("clients whose updates have \"none\"; this one has \"masked\""));
    EXPECT_THAT(message({.strategy = "avg", .protection = "none", .is_private = true}),
                HasSubstr("the strategy \"wavg\"; this one has \"avg\""));
    EXPECT_EQ(Begin(/*resume=*/true).status(), absl::OkStatus());
  }
}

TEST_F(RoundStateTest, OtherOptionsAreSaidOneByOneOrRefused) {
  const auto settings = [](std::string robust, std::string rate, std::string classes) {
    return RoundSettings{.strategy = "wavg",
                         .protection = "none",
                         .identity = {.members = {{.what = "--robust", .value = std::move(robust)},
                                                  {.what = "--rate", .value = std::move(rate)},
                                                  {.what = "list of classes",
                                                   .value = std::move(classes),
                                                   .may_change = MayChange::kNever}}}};
  };
  for (const bool encrypted : {false, true}) {
    FederationState state = Must(Begin(/*resume=*/encrypted, settings("none", "0.1", "a, b")));
    ++state.rounds_done;
    if (encrypted) {
      state.from = {.encrypted = true, .attempt = 2, .clients = 3, .divisor = 2};
      state.encrypted = {{1, 2, 3}};
    }
    ASSERT_EQ(files_->Save(state), absl::OkStatus());
    Must(Begin(/*resume=*/true, settings("none", "0.1", "a, b")));
    EXPECT_THAT(warnings_, IsEmpty());
    Must(Begin(/*resume=*/true, settings("median", "0.2", "a, b")));
    EXPECT_THAT(warnings_, ::testing::ElementsAre(
                               "resumed federation: the --robust was none and is now median",
                               "resumed federation: the --rate was 0.1 and is now 0.2"));
    const absl::Status status = Begin(/*resume=*/true, settings("none", "0.1", "b, a")).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("the federation cannot be continued: the list of classes was a, b and "
                          "is now b, a; begin a new one in another folder"));
  }
}

TEST_F(RoundStateTest, AFileOfSomethingElseIsNotTheStateOfAFederation) {
  for (const std::string name : {"/privacy-ledger.npz", "/encrypted-state.npz"}) {
    fs::remove_all(folder_);
    FederationState state = Must(Begin(/*resume=*/false));
    ASSERT_EQ(Charge(state), absl::OkStatus());
    state.rounds_done = 1;
    if (name.starts_with("/encrypted")) {
      state.from = {.encrypted = true, .attempt = 1, .clients = 3, .divisor = 2};
      state.encrypted = {{1, 2, 3}};
    }
    ASSERT_EQ(files_->Save(state), absl::OkStatus());
    ASSERT_TRUE(fs::exists(folder_ + name));
    Must(WriteArrayFile(folder_ + name, {}, {{"of", "something else"}}));
    const absl::Status status = Begin(/*resume=*/true).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_EQ(std::string(status.message()), folder_ + name + ": is not the state of a federation");
  }
}

TEST_F(RoundStateTest, ALedgerThatIsGoneOrDamagedEndsTheRun) {
  FederationState state = Must(Begin(/*resume=*/false));
  ASSERT_EQ(Charge(state), absl::OkStatus());
  state.rounds_done = 1;
  ASSERT_EQ(files_->Save(state), absl::OkStatus());
  const std::string ledger = folder_ + "/privacy-ledger.npz";
  EXPECT_TRUE(absl::IsFailedPrecondition(Begin(/*resume=*/false).status())) << "of another one";
  fs::resize_file(ledger, fs::file_size(ledger) / 2);
  EXPECT_FALSE(Begin(/*resume=*/true).ok());
  fs::remove(ledger);
  const absl::Status status = Begin(/*resume=*/true).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("privacy-ledger.npz: is missing"));
}

}  // namespace
}  // namespace dtnn
