from schedulog.errors import ScheduleError
def undefined_error(program, component, engine, over, under, symbols): return ScheduleError("SL120","x")
