#pragma once

namespace gf {

// From this call to the end of the process, SIGTERM and SIGINT ask for a checkpoint and the end of
// training, SIGUSR1 asks for a checkpoint. A second SIGINT ends the process at once.
void WatchSignals();

// What signals have asked for since WatchSignals; from any thread.
bool StopRequested();
bool CheckpointRequested();
// To be called when the checkpoint is written.
void ClearCheckpointRequest();

// A signal that announces the end of this process. mpirun, when it is interrupted, sends SIGCONT at
// once, SIGTERM a second later, and SIGKILL another second later; when it is interrupted twice,
// SIGKILL follows SIGCONT.
enum class Warning {
  kNone,
  kMayEnd,  // SIGCONT; it also ends a stop (SIGSTOP, Ctrl-Z), after which the process lives on
  kEnds,    // SIGTERM, SIGINT
};
// Waits for the next one since WatchSignals, or for a call of EndWait: kNone. That the descriptor
// `end` (-1: none) can be read from also is a warning, kEnds. For one thread.
Warning WaitForWarning(int end = -1);
void EndWait();

}  // namespace gf
