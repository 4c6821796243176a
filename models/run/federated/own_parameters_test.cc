#include "models/run/federated/own_parameters.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/array_file.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using federation::AttemptId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Values = std::vector<float>;

class OwnParametersTest : public ::testing::Test {
 protected:
  OwnParametersTest() {
    options_.federation.local_parameters = "*_FC_*";
    model_.network[0] = 1;
    model_.local[0] = 2;
  }

  // A client that begins, or comes again, with a folder.
  absl::StatusOr<OwnParameters> Make(Resume resume, const Values& initial = {1, 2},
                                     const OwnParameters::Kind& kind = OwnParameters::kLocal) {
    options_.checkpoint = {.folder = folder_, .resume = resume};
    return OwnParameters::Create(options_, client_, model_, initial, kind);
  }
  std::string Refusal(Resume resume, const Values& initial = {1, 2}) {
    return std::string(Make(resume, initial).status().message());
  }
  // With what the client knows of its last attempt, which is that of the round it trained.
  Values Begin(OwnParameters& own, int64_t round, std::optional<bool> used, bool over = false,
               const AttemptId& made_by = {}) {
    if (used) Must(own.SetUsed(last_, *used));
    const std::span<const float> now =
        Must(own.Begin({.over = over, .round = round, .rounds = 9, .made_by = made_by}));
    return {now.begin(), now.end()};
  }
  // Its update is sent, or is not.
  absl::Status Keep(OwnParameters& own, int64_t round, Values trained, bool sent = true) {
    last_ = {.nonce = {7}, .number = uint64_t(round) + 10};
    Must(own.Keep({.round = round, .attempt = last_}, std::move(trained)));
    return sent ? own.SetUsed(last_, std::nullopt) : absl::OkStatus();
  }

  RunOptions options_;
  federation::ModelFacts model_;
  std::string client_ = "north";
  AttemptId last_;  // of what was kept last
  const std::string folder_ = NewFolder();
  const std::string file_ = folder_ + "/local-parameters.npz";

 private:
  static std::string NewFolder() {
    const std::string folder =
        ::testing::TempDir() + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    return folder;
  }
};

TEST_F(OwnParametersTest, CountWhereTheUpdateIsUsed) {
  OwnParameters own = Must(OwnParameters::Create(options_, client_, model_, {1, 2}));
  EXPECT_THAT(Begin(own, 1, {}), ElementsAre(1, 2));
  Must(Keep(own, 1, {3, 4}));
  EXPECT_THAT(Begin(own, 1, false), ElementsAre(1, 2)) << "the round is tried again";
  Must(Keep(own, 1, {5, 6}));
  EXPECT_THAT(Begin(own, 1, {}), ElementsAre(1, 2)) << "again, by an aggregator that has returned";
  Must(Keep(own, 1, {5, 6}));
  EXPECT_THAT(Begin(own, 2, true), ElementsAre(5, 6));
  Must(Keep(own, 2, {7, 8}));
  EXPECT_THAT(Begin(own, 3, false), ElementsAre(5, 6)) << "the round is over without its update";
  EXPECT_THAT(Begin(own, 4, {}), ElementsAre(5, 6)) << "and what was dropped does not come back";
  Must(Keep(own, 4, {9, 9}));
  EXPECT_THAT(Begin(own, 6, {}), ElementsAre(9, 9)) << "nobody knows";
  Must(Keep(own, 6, {0, 1}));
  EXPECT_THAT(Begin(own, 5, {}, /*over=*/true), ElementsAre(9, 9)) << "ended before that round";
  Must(Keep(own, 6, {0, 1}));
  EXPECT_THAT(Begin(own, 6, true, /*over=*/true), ElementsAre(0, 1));
  EXPECT_FALSE(std::filesystem::exists(file_)) << "without a folder";
}

TEST_F(OwnParametersTest, AClientThatComesAgainHasTheSame) {
  {
    OwnParameters own = Must(Make(Resume::kIfThere));
    EXPECT_EQ(own.resumed_from(), "");
    Begin(own, 1, {});
    Must(Keep(own, 1, {3, 4}));
    Begin(own, 2, true);
    Must(Keep(own, 2, {5, 6}));
  }
  for (const int round : {2, 3}) {  // the same one again, or the next
    OwnParameters own = Must(Make(Resume::kYes, {7, 7}));
    EXPECT_EQ(own.resumed_from(), file_);
    EXPECT_EQ(Begin(own, round, {}), round == 2 ? Values({3, 4}) : Values({5, 6}));
    if (round == 2) Must(Keep(own, 2, {5, 6}));
  }
  {
    OwnParameters own = Must(Make(Resume::kYes));
    EXPECT_EQ(Begin(own, 3, false), Values({3, 4})) << "its update is not used";
  }
  OwnParameters own = Must(Make(Resume::kYes));
  EXPECT_EQ(Begin(own, 3, {}), Values({3, 4})) << "that is kept, too";
}

// A client that is killed, or loses its connection, before all of its update is sent.
TEST_F(OwnParametersTest, DoNotCountBeforeTheUpdateIsSent) {
  OwnParameters own = Must(Make(Resume::kIfThere));
  Begin(own, 1, {});
  Must(Keep(own, 1, {3, 4}, /*sent=*/false));
  OwnParameters killed = Must(Make(Resume::kYes));
  EXPECT_EQ(Begin(killed, 2, {}), Values({1, 2}));
  EXPECT_EQ(Begin(own, 2, {}), Values({1, 2}));
}

// A client that is killed after it knows, and is asked again some rounds later.
TEST_F(OwnParametersTest, WhatItKnowsOfItsUpdateIsInTheFile) {
  for (const bool used : {true, false}) {
    std::filesystem::remove(file_);
    {
      OwnParameters own = Must(Make(Resume::kNo));
      Begin(own, 1, {});
      Must(Keep(own, 1, {3, 4}));
      Must(own.SetUsed({.nonce = {7}, .number = last_.number + 1}, !used));  // of another attempt
      Must(own.SetUsed({.nonce = {8}, .number = last_.number}, !used));  // or another aggregator
      Must(own.SetUsed(last_, used));
    }
    OwnParameters own = Must(Make(Resume::kYes));
    EXPECT_EQ(Begin(own, 4, {}), used ? Values({3, 4}) : Values({1, 2}));
  }
}

// In round 1 of the next one the client has sent nothing, whatever an earlier one has left.
TEST_F(OwnParametersTest, WhatIsNotSentAndControlVariatesAreOfOneFederation) {
  for (const OwnParameters::Kind& kind : {OwnParameters::kOwed, OwnParameters::kControl}) {
    OwnParameters own = Must(Make(Resume::kIfThere, {0, 0}, kind));
    Begin(own, 1, {});
    Must(Keep(own, 1, {3, 4}));
    EXPECT_EQ(Begin(own, 2, true), Values({3, 4}));
    Must(Keep(own, 2, {5, 6}));
    EXPECT_EQ(Begin(own, 2, true, /*over=*/true), Values({5, 6}));
    for (OwnParameters now : {own, Must(Make(Resume::kIfThere, {0, 0}, kind))}) {
      EXPECT_EQ(Begin(now, 1, {}), Values({0, 0})) << kind.file;
      OwnParameters killed = Must(Make(Resume::kYes, {0, 0}, kind));
      EXPECT_EQ(Begin(killed, 2, {}), Values({0, 0})) << kind.file << ": it was not in round 1";
    }
  }
  OwnParameters local = Must(Make(Resume::kIfThere));
  Must(Keep(local, 1, {3, 4}));
  Begin(local, 2, true);
  EXPECT_EQ(Begin(local, 1, {}), Values({3, 4})) << "these are the client's";
}

// The aggregator says in some round that updates are sent in part: no reason to end.
TEST_F(OwnParametersTest, AClientWithoutAFileHasSentAll) {
  const OwnParameters::Kind& kind = OwnParameters::kOwed;
  {
    OwnParameters own = Must(Make(Resume::kYes, {0, 0}, kind));
    EXPECT_EQ(Begin(own, 5, {}), Values({0, 0}));
  }
  {
    OwnParameters own = Must(Make(Resume::kYes, {0, 0}, kind));
    Must(Keep(own, 5, {3, 4}));
  }
  OwnParameters own = Must(Make(Resume::kNo, {0, 0}, kind));
  EXPECT_EQ(own.resumed_from(), "");
  EXPECT_EQ(Begin(own, 6, {}), Values({0, 0})) << "one that does not resume has lost it";
}

// The attempt made the next parameters without its update, which was left out.
TEST_F(OwnParametersTest, DoNotCountWhereTheAttemptWasMadeWithoutThem) {
  for (const bool over : {false, true}) {
    OwnParameters own = Must(OwnParameters::Create(options_, client_, model_, {1, 2}));
    Must(Keep(own, 1, {3, 4}));
    EXPECT_EQ(Begin(own, over ? 1 : 2, false, over, last_), Values({1, 2}));
  }
}

// An aggregator that had not saved the round does it again with others.
TEST_F(OwnParametersTest, CountOnlyWhereTheirAttemptMadeTheNextParameters) {
  for (const std::optional<bool> used : {std::optional<bool>(), std::optional(true)}) {
    for (const bool resumed : {false, true}) {
      for (const AttemptId& other :
           {AttemptId{.nonce = {7}, .number = 12}, AttemptId{.nonce = {8}, .number = 11}}) {
        std::filesystem::remove(file_);
        std::optional<OwnParameters> own = Must(Make(Resume::kNo));
        Must(Keep(*own, 1, {3, 4}));
        if (used) Must(own->SetUsed(last_, *used));
        if (resumed) own.emplace(Must(Make(Resume::kYes)));
        EXPECT_EQ(Begin(*own, 2, {}, false, other), Values({1, 2}));
        Must(Keep(*own, 2, {5, 6}));
        EXPECT_EQ(Begin(*own, 2, {}, true, last_), Values({5, 6}));
      }
    }
  }
}

TEST_F(OwnParametersTest, ThoseOfAnotherClientAreRefused) {
  {
    OwnParameters own = Must(Make(Resume::kNo));
    Must(Keep(own, 1, {3, 4}));
  }
  client_ = "south";
  for (const Resume resume : {Resume::kYes, Resume::kIfThere}) {
    EXPECT_EQ(Refusal(resume),
              file_ +
                  ": is of the client north, this one is south. Give the folder of this client, "
                  "or, where it is the same client, its name by "
                  "RunOptions::federation.client_name");
  }
}

TEST_F(OwnParametersTest, FilesThatDoNotFitAreRefused) {
  EXPECT_EQ(Refusal(Resume::kYes),
            "RunOptions::checkpoint.resume: there is no " + file_ +
                "; RunOptions::checkpoint.resume=if-there begins with new parameters then");
  {
    OwnParameters own = Must(Make(Resume::kNo));
    Must(Keep(own, 1, {3, 4}));
  }
  EXPECT_EQ(Refusal(Resume::kNo), file_ +
                                      ": is of another run of a client; continue with it by "
                                      "RunOptions::checkpoint.resume, or give another folder");
  options_.federation.local_parameters = "*_gamma";
  model_.local[0] = 3;
  EXPECT_EQ(Refusal(Resume::kYes),
            file_ +
                ": is of another network, or of RunOptions::federation.local_parameters=*_FC_*; "
                "this run has *_gamma. Give the options that it began with, or another folder");
  model_.local[0] = 2;
  EXPECT_EQ(Refusal(Resume::kIfThere, {1, 2, 3}),
            file_ + ": has no array \"before\" of 3 finite numbers; is it damaged?");
  {
    OwnParameters own = Must(Make(Resume::kYes));
    Must(Keep(own, 1, {3, std::numeric_limits<float>::infinity()}));
  }
  EXPECT_EQ(Refusal(Resume::kYes),
            file_ + ": has no array \"trained\" of 2 finite numbers; is it damaged?");
  Must(WriteArrayFile(file_, {}, {{"__round__", "-1"}}));
  EXPECT_EQ(Refusal(Resume::kYes), file_ + ": holds no parameters of a client; is it damaged?");
  std::filesystem::resize_file(file_, 30);
  EXPECT_THAT(Refusal(Resume::kYes), HasSubstr(file_));
}

}  // namespace
}  // namespace dtnn
