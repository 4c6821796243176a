#include "tensor/gpu/simulated/happens_before.h"

#include <algorithm>

#include "tensor/errors.h"

namespace dtnn::gpu {
namespace {

bool Covers(const Access& a, const Access& b) {
  return a.rows == 1 && a.begin <= b.begin && b.end() <= a.end();
}

bool SameRange(const Access& a, const Access& b) {
  return a.begin == b.begin && a.row_bytes == b.row_bytes && a.rows == b.rows &&
         (a.rows == 1 || a.pitch == b.pitch);
}

bool Writes(const Access& access) { return access.mode == AccessMode::kWrite; }

const char* Verb(const Access& access) { return Writes(access) ? "writes" : "reads"; }

}  // namespace

uint64_t Clock::Tick(size_t stream) {
  if (counts_.size() <= stream) counts_.resize(stream + 1);
  return ++counts_[stream];
}

void Clock::Merge(const Clock& other) {
  counts_.resize(std::max(counts_.size(), other.counts_.size()));
  for (size_t i = 0; i < other.counts_.size(); ++i) {
    counts_[i] = std::max(counts_[i], other.counts_[i]);
  }
}

bool Clock::Covers(const Clock& other) const {
  for (size_t i = 0; i < other.counts_.size(); ++i) {
    if (other.counts_[i] > (*this)[i]) return false;
  }
  return true;
}

bool Overlap(const Access& a, const Access& b) {
  if (a.end() <= b.begin || b.end() <= a.begin) return false;
  if (b.rows == 1 && a.rows > 1) return Overlap(b, a);
  if (a.rows > b.rows && b.rows > 1) return Overlap(b, a);
  // For each row of a, the first row of b that ends after it begins, if that begins before it ends.
  for (size_t row = 0; row < a.rows; ++row) {
    const std::byte* const begin = a.begin + row * a.pitch;
    const std::byte* const end = begin + a.row_bytes;
    size_t first = 0;
    if (begin >= b.begin + b.row_bytes) {
      first = b.rows == 1 ? 1 : size_t(begin - b.begin - b.row_bytes) / b.pitch + 1;
    }
    if (first < b.rows && b.begin + first * b.pitch < end) return true;
  }
  return false;
}

absl::Status AccessHistory::Add(std::shared_ptr<const Operation> operation, const Clock& clock,
                                std::span<const Touch> touches) {
  for (const Touch& touch : touches) {
    for (const Record& record : records_[touch.allocation]) {
      if (record.operation->Before(clock) || record.operation == operation) continue;
      if (!Writes(record.access) && !Writes(touch.access)) continue;
      if (!Overlap(record.access, touch.access)) continue;
      return FailedPrecondition(
          operation->name, " ", Verb(touch.access), " ", touch.what, ", which ",
          record.operation->name, " ", Verb(record.access),
          ", and nothing orders the two: wait for an event recorded after the "
          "latter");
    }
  }
  for (const Touch& touch : touches) {
    std::vector<Record>& records = records_[touch.allocation];
    // Whatever conflicts with a record that goes here conflicts with the new one too: all before a
    // write of the same bytes, and reads of them that came before this read.
    std::erase_if(records, [&](const Record& record) {
      if (Writes(touch.access)) {
        return Covers(touch.access, record.access) || SameRange(touch.access, record.access);
      }
      return !Writes(record.access) && SameRange(touch.access, record.access) &&
             record.operation->Before(clock);
    });
    records.push_back({operation, touch.access});
  }
  return absl::OkStatus();
}

void AccessHistory::ForgetBefore(const Clock& clock) {
  for (auto& [allocation, records] : records_) {
    std::erase_if(records, [&](const Record& record) { return record.operation->Before(clock); });
  }
}

size_t AccessHistory::size() const {
  size_t size = 0;
  for (const auto& [allocation, records] : records_) size += records.size();
  return size;
}

}  // namespace dtnn::gpu
