#include "comm/ranks/exchange/schedule.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

constexpr size_t kElement = sizeof(uint32_t);

// All ranks' memories, moved by their schedules in an order drawn at random. A value is the text of
// the sum that it stands for, so that its order shows.
class Ranks {
 public:
  Ranks(CollectiveKind kind, int size, int root, size_t elements, size_t memory) {
    for (int rank = 0; rank < size; ++rank) {
      schedules_.push_back(MakeSchedule(kind, rank, size, root, elements * kElement, kElement));
      memories_.emplace_back(memory);
      moved_.emplace_back(schedules_.back().size(), 0);
    }
  }

  std::vector<std::string>& memory(int rank) { return memories_[size_t(rank)]; }

  // One element at a time, as far as they get; whether all pieces are complete.
  bool Run(unsigned seed) {
    std::vector<std::pair<size_t, size_t>> sends;
    for (size_t rank = 0; rank < schedules_.size(); ++rank) {
      for (size_t i = 0; i < schedules_[rank].size(); ++i) {
        if (schedules_[rank][i].kind == Piece::Kind::kSend) sends.emplace_back(rank, i);
      }
    }
    bool again = true;
    while (again) {
      again = false;
      for (size_t i = 0; i < sends.size(); ++i) {
        seed = seed * 1664525 + 1013904223;
        const auto [rank, piece] = sends[(i + (seed >> 16)) % sends.size()];
        again |= MoveOne(rank, piece);
      }
      for (const auto& [rank, piece] : sends) again |= MoveOne(rank, piece);
    }
    for (size_t rank = 0; rank < schedules_.size(); ++rank) {
      for (size_t i = 0; i < schedules_[rank].size(); ++i) {
        if (moved_[rank][i] != schedules_[rank][i].bytes()) return false;
      }
    }
    return true;
  }

  const std::vector<Schedule>& schedules() const { return schedules_; }

 private:
  bool Ready(size_t rank, size_t piece) const {
    const Piece& p = schedules_[rank][piece];
    if (p.after < 0) return true;
    const Piece& first = schedules_[rank][size_t(p.after)];
    EXPECT_LT(p.after, int(piece));
    EXPECT_TRUE(first.begin <= p.begin && p.end <= first.end);
    return first.begin + moved_[rank][size_t(p.after)] >=
           std::min(p.end, p.begin + moved_[rank][piece] + unit_);
  }

  bool MoveOne(size_t rank, size_t piece) {
    const Piece& send = schedules_[rank][piece];
    if (moved_[rank][piece] == send.bytes() || !Ready(rank, piece)) return false;
    Schedule& other = schedules_[size_t(send.peer)];
    for (size_t i = 0; i < other.size(); ++i) {
      const Piece& p = other[i];
      if (p.kind == Piece::Kind::kSend || p.peer != int(rank) || p.tag != send.tag) continue;
      EXPECT_EQ(p.bytes(), send.bytes());
      if (!Ready(size_t(send.peer), i)) return false;
      const size_t unit = std::min(unit_, send.bytes() - moved_[rank][piece]);
      const std::string& from = memories_[rank][(send.begin + moved_[rank][piece]) / kElement];
      std::string& to =
          memories_[size_t(send.peer)][(p.begin + moved_[size_t(send.peer)][i]) / kElement];
      if (p.kind == Piece::Kind::kReduce) {
        to = to < from ? "(" + to + from + ")" : "(" + from + to + ")";
      } else {
        to = from;
      }
      moved_[rank][piece] += unit;
      moved_[size_t(send.peer)][i] += unit;
      return true;
    }
    ADD_FAILURE() << "rank " << rank << " sends what rank " << send.peer << " does not receive";
    return false;
  }

  const size_t unit_ = kElement;
  std::vector<Schedule> schedules_;
  std::vector<std::vector<std::string>> memories_;
  std::vector<std::vector<size_t>> moved_;
};

constexpr int kMostRanks = 9;

TEST(ScheduleTest, AllReducesSumEveryElementInTheSameOrderOnAllRanks) {
  for (int size = 2; size <= kMostRanks; ++size) {
    for (const size_t elements : {1, 2, 3, 7, 8, 31}) {
      for (const unsigned seed : {1u, 2u, 3u}) {
        Ranks ranks(CollectiveKind::kAllReduce, size, 0, elements, elements);
        for (int rank = 0; rank < size; ++rank) {
          std::ranges::fill(ranks.memory(rank), std::to_string(rank));
        }
        ASSERT_TRUE(ranks.Run(seed)) << size << " ranks, " << elements << " elements";
        const std::string sum = ranks.memory(0)[0];
        EXPECT_EQ(std::ranges::count(sum, '('), size - 1) << sum;
        if (size == 4) {
          EXPECT_EQ(sum, "((01)(23))");
        }
        for (int rank = 0; rank < size; ++rank) {
          for (const std::string& element : ranks.memory(rank)) ASSERT_EQ(element, sum);
        }
      }
    }
  }
}

TEST(ScheduleTest, AllReducesOfPowersOfTwoSendNoMoreThanNeeded) {
  for (const int size : {2, 4, 8}) {
    const Ranks ranks(CollectiveKind::kAllReduce, size, 0, 1024, 0);
    for (const Schedule& schedule : ranks.schedules()) {
      size_t sent = 0;
      for (const Piece& piece : schedule) {
        if (piece.kind == Piece::Kind::kSend) sent += piece.bytes();
      }
      EXPECT_EQ(sent, 2 * 1024 * kElement * size_t(size - 1) / size_t(size));
    }
  }
}

TEST(ScheduleTest, SlicesSendNoMoreThanNeededForAnyNumberOfRanks) {
  constexpr size_t kBytes = 840 * kElement;
  for (int size = 2; size <= 8; ++size) {
    for (int rank = 0; rank < size; ++rank) {
      size_t sent = 0, received = 0;
      for (const Schedule& half : {MakeSliceExchange(rank, size, kBytes, kElement),
                                   MakeSliceGather(rank, size, kBytes, kElement)}) {
        for (const Piece& piece : half) {
          (piece.kind == Piece::Kind::kSend ? sent : received) += piece.bytes();
        }
      }
      EXPECT_EQ(sent, 2 * kBytes * size_t(size - 1) / size_t(size));
      EXPECT_EQ(received, sent);
    }
  }
}

TEST(ScheduleTest, SlicesCoverAllElementsAndFitTheOtherEnd) {
  for (int size = 2; size <= kMostRanks; ++size) {
    for (const size_t elements : {1, 2, 7, 30}) {
      const size_t bytes = elements * kElement;
      size_t end = 0;
      for (int rank = 0; rank < size; ++rank) {
        const Slice slice = SliceOfRank(rank, size, bytes, kElement);
        EXPECT_EQ(slice.begin, end);
        end = slice.end;
        std::vector<bool> used(static_cast<size_t>(size));
        for (const Piece& piece : MakeSliceExchange(rank, size, bytes, kElement)) {
          const Slice of = SliceOfRank(piece.kind == Piece::Kind::kSend ? piece.peer : rank, size,
                                       bytes, kElement);
          EXPECT_EQ(piece.bytes(), of.bytes());
          if (piece.kind == Piece::Kind::kSend) continue;
          ASSERT_GE(piece.begin, bytes);
          const size_t place = (piece.begin - bytes) / of.bytes();
          ASSERT_LT(place, size_t(size - 1));
          EXPECT_FALSE(used[place]) << "two slices in one place";
          used[place] = true;
        }
      }
      EXPECT_EQ(end, bytes);
    }
  }
}

TEST(ScheduleTest, SlicesPayWhereHalvingSendsMore) {
  const auto from = [](const std::vector<int>& nodes) { return SlicesPayFrom(nodes); };
  constexpr size_t kNever = std::numeric_limits<size_t>::max();
  for (const std::vector<int>& nodes : {std::vector<int>{0, 1},
                                        {0, 1, 2, 3},
                                        {0, 1, 2, 3, 4, 5, 6, 7},
                                        {0, 0, 0},
                                        {0, 0, 1},
                                        {0}}) {
    EXPECT_EQ(from(nodes), kNever) << nodes.size();
  }
  EXPECT_LT(from({0, 1, 2}), 100u);
  EXPECT_LT(from({0, 1, 2, 3, 4}), 64u << 10);
  // The more ranks, the more steps.
  EXPECT_GT(from({0, 1, 2, 3, 4, 5, 6}), from({0, 1, 2, 3, 4}));
}

TEST(ScheduleTest, NoMorePiecesGoBetweenTwoRanksThanIsSaid) {
  for (int size = 2; size <= 70; ++size) {
    int most = 0;
    for (int rank = 0; rank < size; ++rank) {
      const size_t bytes = 1000 * kElement;
      for (const Schedule& schedule :
           {MakeSchedule(CollectiveKind::kAllReduce, rank, size, 0, bytes, kElement),
            MakeSchedule(CollectiveKind::kAllGather, rank, size, 0, bytes, kElement),
            MakeSchedule(CollectiveKind::kAllToAll, rank, size, 0, bytes * size_t(size), kElement),
            MakeSchedule(CollectiveKind::kBroadcast, rank, size, 0, bytes, kElement),
            MakeSchedule(CollectiveKind::kBarrier, rank, size, 0, 0, 1),
            MakeSliceExchange(rank, size, bytes, kElement),
            MakeSliceGather(rank, size, bytes, kElement)}) {
        std::vector<int> pieces(size_t(size), 0);
        for (const Piece& piece : schedule) {
          if (piece.kind != Piece::Kind::kSend) ++pieces[size_t(piece.peer)];
        }
        most = std::max(most, *std::ranges::max_element(pieces));
      }
    }
    EXPECT_LE(size_t(most), MostPiecesBetween(size)) << size;
    EXPECT_GE(most, size / 2) << size;
  }
}

TEST(ScheduleTest, BroadcastsReachAllRanksFromEachRoot) {
  for (int size = 2; size <= kMostRanks; ++size) {
    for (int root = 0; root < size; ++root) {
      Ranks ranks(CollectiveKind::kBroadcast, size, root, 3, 3);
      std::ranges::fill(ranks.memory(root), "x");
      ASSERT_TRUE(ranks.Run(1));
      for (int rank = 0; rank < size; ++rank) {
        EXPECT_EQ(ranks.memory(rank), std::vector<std::string>(3, "x"));
      }
    }
  }
}

TEST(ScheduleTest, AllGathersPutRanksOneAfterAnother) {
  for (int size = 2; size <= kMostRanks; ++size) {
    Ranks ranks(CollectiveKind::kAllGather, size, 0, 2, size_t(size) * 2);
    std::vector<std::string> all;
    for (int rank = 0; rank < size; ++rank) {
      for (size_t i = 0; i < 2; ++i) {
        all.push_back(std::to_string(rank));
        ranks.memory(rank)[size_t(rank) * 2 + i] = all.back();
      }
    }
    ASSERT_TRUE(ranks.Run(1));
    for (int rank = 0; rank < size; ++rank) EXPECT_EQ(ranks.memory(rank), all);
  }
}

TEST(ScheduleTest, AllToAllsTransposeParts) {
  for (int size = 2; size <= kMostRanks; ++size) {
    const auto part = size_t{3}, all = size_t(size) * part;
    Ranks ranks(CollectiveKind::kAllToAll, size, 0, all, 2 * all);
    for (int rank = 0; rank < size; ++rank) {
      for (size_t i = 0; i < all; ++i) {
        ranks.memory(rank)[i] = std::to_string(rank) + "to" + std::to_string(i / part);
      }
    }
    ASSERT_TRUE(ranks.Run(1));
    for (int rank = 0; rank < size; ++rank) {
      for (size_t i = 0; i < all; ++i) {
        const int from = int(i / part);
        const std::string expected = std::to_string(from) + "to" + std::to_string(rank);
        EXPECT_EQ(ranks.memory(rank)[all + i], from == rank ? "" : expected);
      }
    }
  }
}

// What a rank has sent last depends on what it received before.
TEST(ScheduleTest, ABarrierEndsWhenEveryRankHasBegunIt) {
  for (int size = 2; size <= kMostRanks; ++size) {
    std::vector<Schedule> schedules;
    for (int rank = 0; rank < size; ++rank) {
      schedules.push_back(MakeSchedule(CollectiveKind::kBarrier, rank, size, 0, 0, 1));
    }
    // Whom a rank has heard of, round by round.
    const auto count = static_cast<size_t>(size);
    std::vector<std::vector<bool>> heard(count, std::vector<bool>(count));
    for (size_t rank = 0; rank < heard.size(); ++rank) heard[rank][rank] = true;
    const size_t rounds = schedules[0].size() / 2;
    for (size_t round = 0; round < rounds; ++round) {
      const std::vector<std::vector<bool>> before = heard;
      for (size_t rank = 0; rank < heard.size(); ++rank) {
        const Piece& send = schedules[rank][2 * round];
        const Piece& receive = schedules[rank][2 * round + 1];
        EXPECT_EQ(send.after, round == 0 ? -1 : int(2 * round) - 1);
        EXPECT_LE(receive.end, BarrierBytes(size));
        for (size_t i = 0; i < heard.size(); ++i) {
          heard[rank][i] = heard[rank][i] || before[size_t(receive.peer)][i];
        }
      }
    }
    for (const std::vector<bool>& rank : heard) EXPECT_EQ(std::ranges::count(rank, false), 0);
  }
}

}  // namespace
}  // namespace dtnn
