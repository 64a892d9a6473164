#include "solvers/train/step_keeper.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "core/error.h"
#include "solvers/train/signals.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A process with a keeper, whose copies write what they save to a file, and their words to another.
class Job {
 public:
  Job() {
    static int count = 0;
    folder_ = StrCat(::testing::TempDir(), "/job.", getpid(), ".", ++count);
  }

  // Runs the body in a process of its own, which is then killed.
  void Run(const std::function<void(StepKeeper*)>& body, const std::string& obstacle = "",
           int64_t first_step = 0) {
    const pid_t process = fork();
    if (process == 0) {
      WriteWordsToFile();
      WatchSignals();
      store_ = TestStore();
      store_->AddAverage();
      TrainingState state;
      state.step = first_step;
      const auto save = [this](const TrainingState& saved) {
        if (saved.step == kUnsavable) ThrowUserError("the disk is full");
        std::ofstream(folder_ + ".saved") << saved.step << " " << store_->master().as<float>()[0]
                                          << " " << store_->states().as<float>()[0];
        const float average = store_->average()->states().as<float>()[0];
        if (average != 0) std::ofstream(folder_ + ".saved", std::ios::app) << " " << average;
        std::ofstream(folder_ + ".saved", std::ios::app) << "\n";
        return "run/step-" + std::to_string(saved.step);
      };
      auto* const keeper = new StepKeeper({store_.get(), save, obstacle, kLastStep}, state);
      body(keeper);
      kill(getpid(), SIGKILL);
      _exit(1);
    }
    waitpid(process, nullptr, 0);
  }

  // The same below a process that looks like mpirun. Returns when this one has ended.
  void RunUnderMpirun(const std::function<void(StepKeeper*)>& body) {
    const pid_t launcher = fork();
    if (launcher == 0) {
      WriteWordsToFile();
      prctl(PR_SET_NAME, "mpirun");
      setenv("PMIX_RANK", "0", 1);
      setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
      setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "1", 1);
      Run(body);
      _exit(0);
    }
    waitpid(launcher, nullptr, 0);
  }

  // A step that leaves its number in the pools.
  void Step(StepKeeper* keeper, int64_t number) {
    Forward(static_cast<float>(number));
    keeper->BeginUpdate();
    store_->master().as<float>()[0] = static_cast<float>(number);
    Done(keeper, number);
  }
  void Forward(float statistic) { store_->states().as<float>()[0] = statistic; }
  static void Done(StepKeeper* keeper, int64_t number) {
    TrainingState state;
    state.step = number;
    keeper->StepDone(state);
  }
  ParameterStore* store() { return store_.get(); }

  // What the last copy says, once it has said something; "" if it does not.
  std::string Words(double patience_s = 20) const {
    std::string words;
    for (int i = 0; i < patience_s * 100 && !Contains(words, "\n"); ++i) {
      words = ReadAll(folder_ + ".words");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return words;
  }
  // "step, weight, statistic"
  std::string Saved() const { return ReadAll(folder_ + ".saved"); }

  static constexpr int64_t kUnsavable = 13;
  static constexpr int64_t kLastStep = 20;

 private:
  void WriteWordsToFile() const {
    const int words = open((folder_ + ".words").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (dup2(words, STDERR_FILENO) < 0) _exit(1);
  }

  std::string folder_;
  std::unique_ptr<ParameterStore> store_;
};

// Until the keeper's thread has seen the signal.
void Settle() { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }

TEST(StepKeeperTest, AKilledJobKeepsItsLastCompleteStep) {
  for (const int signal : {SIGTERM, SIGINT, SIGCONT}) {
    Job job;
    job.Run([&](StepKeeper* keeper) {
      job.Step(keeper, 1);
      job.Step(keeper, 2);
      job.Forward(3);
      std::raise(signal);
      Settle();
    });
    EXPECT_TRUE(Contains(job.Words(),
                         "ended in step 3; step 2 is saved in run/step-2; continue "
                         "with --resume\n"))
        << job.Words(0.01);
    EXPECT_EQ(job.Saved(), "2 2 2\n") << signal;
  }
}

TEST(StepKeeperTest, StatisticsOfTheAverageAreThoseOfTheStep) {
  Job job;
  job.Run([&](StepKeeper* keeper) {
    float* const average = job.store()->average()->states().as<float>();
    average[0] = 7;
    job.Step(keeper, 1);
    average[0] = 8;  // a mean over the ranks that is being taken
    std::raise(SIGTERM);
    Settle();
  });
  EXPECT_TRUE(Contains(job.Words(), "step 1 is saved"));
  EXPECT_EQ(job.Saved(), "1 1 1 7\n");
}

TEST(StepKeeperTest, StepsAfterTheWarningAreKept) {
  Job job;
  job.Run([&](StepKeeper* keeper) {
    job.Step(keeper, 1);
    std::raise(SIGCONT);
    Settle();
    job.Step(keeper, 2);
    job.Step(keeper, 3);
  });
  EXPECT_TRUE(Contains(job.Words(), "step 3 is saved"));
  EXPECT_EQ(job.Saved(), "3 3 3\n");
}

TEST(StepKeeperTest, WaitsForTheEndOfAnUpdate) {
  Job job;
  job.Run([&](StepKeeper* keeper) {
    job.Step(keeper, 1);
    job.Forward(2);
    keeper->BeginUpdate();
    job.store()->master().as<float>()[0] = -1;
    std::raise(SIGTERM);
    Settle();
    job.store()->master().as<float>()[0] = 2;
    Job::Done(keeper, 2);
    Settle();
  });
  EXPECT_TRUE(Contains(job.Words(), "step 2 is saved"));
  EXPECT_EQ(job.Saved(), "2 2 2\n");
}

TEST(StepKeeperTest, ARankWithoutItsMpirunEndsOnceItsCheckpointIsWritten) {
  Job job;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  job.RunUnderMpirun([&](StepKeeper* keeper) {
    job.Step(keeper, 1);
    keeper->Saving();
    kill(getppid(), SIGKILL);
    Settle();
    EXPECT_EQ(write(ends[1], "w", 1), 1);
    keeper->Saved();
    std::this_thread::sleep_for(std::chrono::seconds(20));
    EXPECT_EQ(write(ends[1], "s", 1), 1);  // it has survived
  });
  EXPECT_TRUE(Contains(job.Words(), "ended in step 2; step 1 is saved")) << job.Words(0.01);
  close(ends[1]);
  std::string written;  // until the last process has ended
  for (char next; read(ends[0], &next, 1) == 1;) written += next;
  EXPECT_EQ(written, "w");
  close(ends[0]);
}

TEST(StepKeeperTest, AnErrorOfOtherRanksKeepsTheStep) {
  Job job;
  job.Run([&](StepKeeper* keeper) {
    job.Step(keeper, 5);
    keeper->Save();
  });
  EXPECT_TRUE(Contains(job.Words(), "step 5 is saved"));
  EXPECT_EQ(job.Saved(), "5 5 5\n");
}

TEST(StepKeeperTest, WithoutAWarningNothingIsWritten) {
  Job job;
  job.Run([&](StepKeeper* keeper) { job.Step(keeper, 1); });
  EXPECT_EQ(job.Words(0.3), "");
}

TEST(StepKeeperTest, AJobThatEndsByItselfSavesNothing) {
  Job job;
  job.Run([&](StepKeeper* keeper) {
    job.Step(keeper, 1);
    std::raise(SIGTERM);
    Settle();
    delete keeper;
  });
  EXPECT_EQ(job.Words(0.3), "");
}

TEST(StepKeeperTest, AStepThatIsInACheckpointIsNotLost) {
  Job job;
  job.Run(
      [&](StepKeeper* keeper) {
        job.Step(keeper, 1);
        std::raise(SIGTERM);
        Settle();
        keeper->Saving();
        keeper->Saved();
      },
      "it is so");
  EXPECT_TRUE(Contains(job.Words(), "nothing is lost: step 1 is in the last checkpoint\n"));
  EXPECT_EQ(job.Saved(), "");
}

TEST(StepKeeperTest, SaysWhatIsLost) {
  const auto run = [](Job* job, const std::string& obstacle, int64_t first_step) {
    job->Run(
        [job](StepKeeper* keeper) {
          job->Step(keeper, 6);
          job->Step(keeper, 7);
          std::raise(SIGTERM);
          Settle();
        },
        obstacle, first_step);
    EXPECT_EQ(job->Saved(), "");
    return job->Words();
  };
  Job first, resumed;
  EXPECT_THAT(
      run(&first, "checkpoint.dir is not set", 0),
      ::testing::HasSubstr("ended in step 8; lost: 7 steps, because checkpoint.dir is not set; "
                           "there is no checkpoint"));
  EXPECT_THAT(
      run(&resumed, "it is so", 5),
      ::testing::HasSubstr("lost: 2 steps, because it is so; the last checkpoint is of step 5"));
}

TEST(StepKeeperTest, SaysWhyItCouldNotSave) {
  Job job;
  job.Run(
      [&](StepKeeper* keeper) {
        job.Step(keeper, Job::kUnsavable);
        std::raise(SIGTERM);
        Settle();
      },
      "", 12);
  EXPECT_TRUE(Contains(job.Words(),
                       "lost: 1 step, because the disk is full; the last checkpoint is of step 12"))
      << job.Words(0.01);
}

// While its checkpoint is written, for example.
TEST(StepKeeperTest, NoStepFollowsTheLastOne) {
  Job job;
  job.Run([&](StepKeeper* keeper) {
    job.Step(keeper, Job::kLastStep);
    std::raise(SIGTERM);
    Settle();
  });
  EXPECT_TRUE(Contains(job.Words(), "ended after the last step; step 20 is saved"))
      << job.Words(0.01);
}

TEST(StepKeeperTest, BeforeTheFirstStepNothingIsLost) {
  Job job;
  job.Run([&](StepKeeper*) {
    std::raise(SIGTERM);
    Settle();
  });
  EXPECT_TRUE(Contains(job.Words(), "no step was complete, nothing is lost"));
}

}  // namespace
}  // namespace gf
