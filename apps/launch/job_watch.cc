#include "apps/launch/job_watch.h"

#include <algorithm>
#include <utility>

#include "apps/monitor/metrics_text.h"
#include "apps/monitor/process_metrics.h"
#include "tensor/errors.h"
#include "tensor/text/json_text.h"

namespace dtnn {

JobWatch::JobWatch(std::function<Clock::time_point()> now) : now_(std::move(now)), began_(now_()) {}

void JobWatch::Begin(int64_t least, int64_t most) {
  const std::lock_guard lock(mutex_);
  facts_.least = least;
  facts_.most = most;
}

void JobWatch::OnStart(int number, const std::string& host) {
  const std::lock_guard lock(mutex_);
  Process& process = facts_.processes[number];
  process.host = host;
  process.running = true;
  ++process.starts;
}

void JobWatch::OnExit(int number, int code) {
  const std::lock_guard lock(mutex_);
  Process& process = facts_.processes[number];
  process.running = false;
  process.exit_code = code;
  ++facts_.exits[code];
}

void JobWatch::OnTurn(const Ranks& ranks) {
  const std::lock_guard lock(mutex_);
  facts_.ranks = ranks;
}

void JobWatch::OnTrouble(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (facts_.trouble.empty()) facts_.trouble = why;
}

JobWatch::Facts JobWatch::Copy() const {
  const std::lock_guard lock(mutex_);
  Facts facts = facts_;
  facts.seconds = std::chrono::duration<double>(now_() - began_).count();
  return facts;
}

absl::Status JobWatch::Health() const {
  const std::lock_guard lock(mutex_);
  return facts_.trouble.empty() ? absl::OkStatus() : Unavailable(facts_.trouble);
}

std::string JobWatch::Metrics() const {
  const Facts facts = Copy();
  MetricsText text;
  text.Family("dtnn_job_ranks_expected", "gauge", "Ranks that the job has at least and at most.");
  text.Add({{"bound", "least"}}, facts.least);
  text.Add({{"bound", "most"}}, facts.most);
  text.One(
      "dtnn_job_ranks_present", "gauge",
      "Ranks that are there, also those that others have started, and those that wait to join.",
      facts.ranks.present);
  text.One("dtnn_job_ranks_lost_total", "counter", "Ranks that were lost before the run was over.",
           facts.ranks.lost);
  if (facts.ranks.generations) {
    text.One("dtnn_job_generations_total", "counter", "Times that ranks have formed the job.",
             *facts.ranks.generations);
  }
  int64_t running = 0, starts = 0;
  for (const auto& [number, process] : facts.processes) {
    running += process.running;
    starts += process.starts;
  }
  text.One("dtnn_job_processes", "gauge",
           "Processes of ranks that launch has started and that run.", running);
  text.One("dtnn_job_starts_total", "counter", "Processes of ranks that launch has started.",
           starts);
  text.Family("dtnn_job_exits_total", "counter",
              "Processes that have ended, by exit code; 128 + n after signal n.");
  for (const auto& [code, count] : facts.exits) text.Add({{"code", StrCat(code)}}, count);
  text.One("dtnn_job_seconds", "gauge", "Since launch has started.", facts.seconds);
  AddProcess(text);
  return text.text();
}

std::string JobWatch::Status() const {
  const Facts facts = Copy();
  std::string processes;
  for (const auto& [number, process] : facts.processes) {
    StrAppend(&processes, processes.empty() ? "" : ",\n  ", "{\"rank\": ", number,
              ", \"host\": ", JsonText(process.host),
              ", \"running\": ", process.running ? "true" : "false",
              ", \"starts\": ", process.starts,
              ", \"exit_code\": ", process.exit_code ? StrCat(*process.exit_code) : "null", "}");
  }
  return StrCat(
      "{\"ranks_expected\": [", facts.least, ", ", facts.most,
      "],\n \"ranks_present\": ", facts.ranks.present, ",\n \"ranks_lost\": ", facts.ranks.lost,
      ",\n \"generations\": ", facts.ranks.generations ? StrCat(*facts.ranks.generations) : "null",
      ",\n \"seconds\": ", JsonNumber(facts.seconds),
      ",\n \"trouble\": ", facts.trouble.empty() ? "null" : JsonText(facts.trouble),
      ",\n \"processes\": [", processes, "]}\n");
}

}  // namespace dtnn
